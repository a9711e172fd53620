import { InvalidArgumentError } from 'commander'
import { FAULTS, type FaultKind, type FaultName } from '../../../simulator/fault.js'

export type FaultChoice = FaultName | 'none'

/** Those that need another secret are for tests, which can say which. */
const NOT_HERE: readonly FaultKind[] = ['previous-secret', 'next-secret']

const CHOICES = [
  'none',
  ...Object.keys(FAULTS).filter((kind) => !NOT_HERE.includes(kind as FaultKind)),
] as FaultChoice[]

/** What commander calls with the text after --faults. */
export function faultNames(text: string): FaultChoice[] {
  if (text === 'all') return CHOICES
  return text.split(',').map((name) => {
    const choice = CHOICES.find((each) => each === name.trim())
    if (choice) return choice
    throw new InvalidArgumentError(`Use all, or some of ${CHOICES.join(', ')}.`)
  })
}
