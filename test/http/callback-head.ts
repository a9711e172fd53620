import { genuine } from '../support/running-receiver.js'

/** The request line and the headers of a callback whose body the test sends itself. */
export function callbackHead(headers: Record<string, string | null>): Buffer {
  const request = genuine({ body: '', headers: { 'Content-Length': null, ...headers } }).toHttp()
  return request.subarray(0, request.indexOf('\r\n\r\n') + 4)
}
