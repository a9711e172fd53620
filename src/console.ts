export { createConsole, type Console } from './console/create-console.js'
export type { ConsoleOptions, ConsoleProcess, ConsoleViewOptions } from './console/console-options.js'
export type { ConsoleRole, Operator } from './console/operator.js'
