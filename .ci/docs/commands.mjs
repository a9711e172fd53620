import { join } from 'node:path'
import { manifest, node, root } from './project.mjs'

/** Every npm script and every command and flag of the package's own program that a shell block names must be there. */
export function checkCommands({ where, code }) {
  const commands = code
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*/, ''))
    .flatMap((line) => line.split(/&&|\|\|?|;/))
  return commands.flatMap((command) => problemsOf(command)).map((problem) => `${where}: ${problem}`)
}

function problemsOf(command) {
  const [program, ...args] = command
    .replace(/^\s*\$ /, '')
    .replace(/^\s*(\w+=\S*\s+)*/, '')
    .split(/\s+/)
  if (program === 'npm') return npmProblems(args)
  if (program === manifest.name) return flagProblems(args)
  const own = program === 'npx' ? args.indexOf(manifest.name) : -1
  return own < 0 ? [] : flagProblems(args.slice(own + 1))
}

function npmProblems([verb, name]) {
  const script = verb === 'run' ? name : verb === 'test' || verb === 'start' ? verb : undefined
  return !script || manifest.scripts[script] ? [] : [`package.json has no script ${script}`]
}

function flagProblems(args) {
  const command = []
  for (const name of args) {
    const help = helpOf(...command)
    if (name.startsWith('-') || !help.includes('Commands:')) break
    if (!help.includes(name)) return [`${[manifest.name, ...command].join(' ')} has no command ${name}`]
    command.push(name)
  }
  const help = helpOf(...command)
  return args
    .map((arg) => /^--?[a-z][\w-]*/i.exec(arg)?.[0])
    .filter((flag) => flag && !help.includes(flag))
    .map((flag) => `${[manifest.name, ...command].join(' ')} has no flag ${flag}`)
}

const helps = new Map()

/** The words of its help text. */
function helpOf(...command) {
  const line = [manifest.name, ...command, '--help'].join(' ')
  if (!helps.has(line)) {
    const { status, stdout, output } = node([join(root, manifest.bin[manifest.name]), ...command, '--help'])
    if (status !== 0) throw new Error(`${line} ended with ${status}:\n${output}`)
    helps.set(line, stdout.split(/[\s,|=<>[\]]+/))
  }
  return helps.get(line)
}
