import { HOST_NAMES } from '../support/hosts.js'
import { testUploadsOf24Megabytes } from './uploads-of-24-megabytes.js'

const hosts = HOST_NAMES.filter((name) => name !== 'http.createServer')
describe.each(hosts)('in %s, an upload of 24 MB', testUploadsOf24Megabytes)
