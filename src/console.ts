export { createConsole, type WebConsole } from './console/create-console.js'
export type { ConsoleOptions } from './console/console-options.js'
export type { ConsoleRole, Operator } from './console/operator.js'
