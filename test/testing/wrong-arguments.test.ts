import {
  loadRecordedRequest,
  loadRecordedRequests,
  parseRecordedRequest,
  recordedSubscriptions,
  replayRecordedRequest,
  sendRawRequest,
  signedCallback,
} from '../../src/testing.js'
import { subscription } from '../support/subscription.js'

const callback = signedCallback({ subscription })
const bytes = Buffer.from('GET / HTTP/1.1\r\n\r\n')
const target = { port: 1 }

it.each<[string, (...given: any[]) => unknown, unknown[], string]>([
  ['no bytes', sendRawRequest, [], 'sendRawRequest: bytes is undefined: pass bytes'],
  ['a callback', sendRawRequest, [callback, target], 'bytes is of type object: pass bytes'],
  ['a text', sendRawRequest, ['GET / HTTP/1.1', target], 'bytes is of type string: pass bytes'],
  ['a list of texts', sendRawRequest, [[bytes, 'x'], target], 'bytes is of type string: pass bytes'],
  ['no target', sendRawRequest, [bytes], 'target is undefined: pass an object with a port'],
  ['a target without a port', sendRawRequest, [bytes, {}], 'port is undefined: use a whole number from 1'],
  ['a host that is no text', sendRawRequest, [bytes, { ...target, host: 5 }], 'host is 5: pass the name'],
  ['a negative time', sendRawRequest, [bytes, target, { timeoutMs: -1 }], 'timeoutMs is -1: use a whole'],
  ['no signal', sendRawRequest, [bytes, target, { signal: {} }], 'signal is of type object: pass the signal'],
  ['an unknown option', sendRawRequest, [bytes, target, { timeout: 5 }], 'has no option "timeout"'],
  ['no file', loadRecordedRequest, [], 'loadRecordedRequest: file is undefined: pass the path of NAME.http.'],
  ['no folder', loadRecordedRequests, [], 'loadRecordedRequests: folder is undefined: pass the path'],
  ['no bytes', parseRecordedRequest, [], 'parseRecordedRequest: bytes is undefined: pass bytes'],
  ['bytes for a recording', replayRecordedRequest, [bytes, target], 'recorded is of type object: pass what'],
  ['one recording', recordedSubscriptions, [{ subscription }], 'recorded is of type object: pass a list'],
  ['a list of others', recordedSubscriptions, [[subscription]], 'recorded is of type object: pass what'],
])('is refused: %s', async (_what, call, given, message) => {
  const error = await Promise.resolve()
    .then(() => call(...given))
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    code: expect.stringMatching(/^ERR_OPTION_/),
    message: expect.stringContaining(message),
  })
})
