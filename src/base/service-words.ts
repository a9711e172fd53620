interface Word {
  /** The options that have this meaning here. The owner of the options has one of them, or none. */
  readonly ours: readonly string[]
  readonly isOfSubscription?: true
  readonly note?: string
}

const SUBSCRIPTION = '{ eventTypeName, callbackUrl, secret }'
const OF_CLIENT = 'The client gets access tokens itself, with clientId and clientSecret.'

/** Words of the service (SERVICE 2 and 6) and of similar libraries, in lower case without `_` and `-`. */
const WORDS: Readonly<Record<string, Word>> = {
  secrettext: {
    ours: ['secret'],
    isOfSubscription: true,
    note: 'secret is the text itself, not its Base64.',
  },
  secret: { ours: ['clientSecret'], isOfSubscription: true },
  signingsecret: { ours: ['secret'], isOfSubscription: true },
  webhooksecret: { ours: ['secret'], isOfSubscription: true },
  eventtypename: { ours: ['eventTypeName', 'eventType'], isOfSubscription: true },
  eventtype: { ours: ['eventTypeName', 'eventType'], isOfSubscription: true },
  xeventtype: { ours: ['eventType', 'eventTypeName'], isOfSubscription: true },
  callbackurl: { ours: ['callbackUrl', 'deliverTo'], isOfSubscription: true },
  url: { ours: ['callbackUrl', 'baseUrl', 'connectionString'], isOfSubscription: true },
  xidempotencykey: { ours: ['idempotencyKey'] },
  authorizationtimestamp: { ours: ['timestamp'] },
  expiresin: { ours: ['tokenLifetimeSeconds'] },
  accesstoken: { ours: [], note: OF_CLIENT },
  granttype: { ours: [], note: OF_CLIENT },
}

/** What to write in place of an option that is not known, if its name is a word of the service or is spelled as there. */
export function hintForWord(name: string, known: readonly string[]): string | undefined {
  const plain = plainName(name)
  const { ours = [], isOfSubscription, note } = (Object.hasOwn(WORDS, plain) && WORDS[plain]) || {}
  const meant = known.find((each) => plainName(each) === plain) ?? ours.find((each) => known.includes(each))
  const sentences = (first: string) => (note === undefined ? first : `${first} ${note}`)
  if (meant !== undefined) return sentences(`Did you mean ${JSON.stringify(meant)}?`)
  if (isOfSubscription && known.includes('subscriptions'))
    return sentences(`Put it into a subscription: subscriptions: [${SUBSCRIPTION}].`)
  if (isOfSubscription && known.includes('subscription'))
    return sentences(`Put it into the subscription: subscription: ${SUBSCRIPTION}.`)
  return note === OF_CLIENT && known.includes('clientSecret') ? note : undefined
}

/** `client_Id` and `X-Event-Type` as `clientid` and `xeventtype`. */
function plainName(name: string): string {
  return name.length > 60 ? name : name.replace(/[_-]/g, '').toLowerCase()
}
