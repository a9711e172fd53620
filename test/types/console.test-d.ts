import type { IncomingMessage } from 'node:http'
import express, { type Request } from 'express'
import { MemoryInbox } from '../../src/index.js'
import { createConsole } from '../../src/console.js'

const inbox = new MemoryInbox()
const app = express()

app.use('/admin', createConsole({ inbox }))
app.use('/admin', createConsole({ inbox, operator: async (request) => operatorOf(request.headers.host) }))

function userOf(request: Request): string | undefined {
  return request.get('X-User')
}
app.use(
  '/admin',
  createConsole({
    inbox,
    operator(request: Request) {
      return operatorOf(userOf(request))
    },
  }),
)

type SignedIn = Request & { user: { email: string } }
app.use(
  '/admin',
  createConsole({ inbox, operator: ({ user }: SignedIn) => ({ name: user.email, role: 'decide' }) }),
)

// @ts-expect-error a role is view or decide
createConsole({ inbox, operator: () => ({ name: 'ada', role: 'admin' }) })
// @ts-expect-error the operator needs a name
createConsole({ inbox, operator: (_request: IncomingMessage) => ({ role: 'view' }) })
// @ts-expect-error it has not all that operators do
createConsole({ inbox: { list: inbox.list, show: inbox.show } })

function operatorOf(name: string | undefined) {
  return name === undefined ? undefined : { name, role: 'view' as const }
}
