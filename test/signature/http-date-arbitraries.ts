import fc from 'fast-check'
import { spellings } from './http-date-oracle.js'

/** Every whole second that an HTTP date can name, from the year 0 to 9999. */
const seconds = fc.integer({
  min: Date.parse('0000-01-01') / 1000,
  max: Date.parse('9999-12-31T23:59:59Z') / 1000,
})
export const instants = seconds.map((second) => second * 1000)
export const timestamps = instants.chain((ms) => fc.constantFrom(...spellings(ms)))
