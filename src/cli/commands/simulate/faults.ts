import { InvalidArgumentError } from 'commander'
import { similarName } from '../../../base/similar-name.js'
import { FAULTS, type FaultKind, type FaultName } from '../../../simulator/fault.js'

export type FaultChoice = FaultName | 'none'

/** These need a second secret, which only a test can pass. */
const NOT_HERE: readonly FaultKind[] = ['previous-secret', 'next-secret']

const CHOICES = [
  'none',
  ...Object.keys(FAULTS).filter((kind) => !NOT_HERE.includes(kind as FaultKind)),
] as FaultChoice[]

/** The parser of --faults. */
export function faultNames(text: string): FaultChoice[] {
  if (text === 'all') return CHOICES
  return text.split(',').map((name) => {
    const choice = CHOICES.find((each) => each === name.trim())
    if (choice) return choice
    const meant = similarName(name.trim(), CHOICES)
    const guess = meant === undefined ? '' : ` Did you mean ${meant}?`
    throw new InvalidArgumentError(`Use all, or some of ${CHOICES.join(', ')}.${guess}`)
  })
}
