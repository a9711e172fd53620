import { signedCallback } from 'countersign/testing'

const subscription = {
  eventTypeName: 'transfers.book-completed',
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 'the secret text of a consumer',
}

export async function send(): Promise<number> {
  const callback = signedCallback({ subscription })
  const request: Request = new Request(callback.url, callback)
  await fetch(request)
  return (await fetch(callback.url, callback)).status
}
