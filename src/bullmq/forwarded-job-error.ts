import { CountersignError } from '../base/errors.js'

/** The data of a job cannot be read as a forwarded callback. */
export class ForwardedJobError extends CountersignError<'ERR_JOB_INVALID'> {}

/** Names the field and never the value, as the reason of a failed job is kept and shown. */
export function missingField(field: string): ForwardedJobError {
  const error = new ForwardedJobError(
    'ERR_JOB_INVALID',
    `forwardedEvent: the data of the job has no valid ${JSON.stringify(field)}, so forwardTo did not add it. Use a queue ` +
      'for forwarded callbacks alone, or choose the jobs by their names.',
  )
  // By this name BullMQ recognises errors after which a job is not tried again.
  error.name = 'UnrecoverableError'
  return error
}

/** Not final: during an update the job may be tried again by a worker that has been updated. */
export function newerVersion(version: number, known: number): ForwardedJobError {
  return new ForwardedJobError(
    'ERR_JOB_INVALID',
    `forwardedEvent: the data of the job has version ${version}, and this process knows ${known}: update countersign where the worker runs`,
  )
}
