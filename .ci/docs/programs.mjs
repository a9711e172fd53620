import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { manifest, node, root } from './project.mjs'

const folder = join(root, 'node_modules/.cache/docs-check')

/** Programs are compiled against the built package as a user's are: found in node_modules, through its exports. */
export function checkPrograms(blocks) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(root, join(folder, 'node_modules', manifest.name), 'junction')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n')
  const programs = blocks
    .filter(({ language }) => /^([mc]?js|[mc]?ts)$/.test(language))
    .map((block, index) => ({ ...block, file: fileName(block, index) }))
  for (const { file, code } of programs) writeFileSync(join(folder, file), code)
  return [
    ...compile('ts', {}, programs),
    ...compile('js', { noImplicitAny: false, allowJs: true, checkJs: true }, programs),
    ...programs.filter(({ environment }) => environment).flatMap(run),
  ]
}

function fileName({ path, language, code }, index) {
  const isCommonJs = language === 'js' && /\brequire\(/.test(code) && !/^import /m.test(code)
  return `${basename(path, '.md')}-${index}.${isCommonJs ? 'cjs' : language}`
}

function compile(kind, options, programs) {
  const files = programs.map(({ file }) => file).filter((file) => file.endsWith(kind))
  if (files.length === 0) return []
  if (kind === 'js') files.push(liberties(programs))
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    moduleDetection: 'force',
    types: ['node', 'jest'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    rootDir: '.',
    outDir: 'out',
    ...options,
  }
  const project = join(folder, `tsconfig.${kind}.json`)
  writeFileSync(project, JSON.stringify({ compilerOptions, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { status, output } = node([tsc, '-p', project, '--pretty', 'false'], { cwd: folder })
  if (status === 0) return []
  const located = output.replace(/^.*?([\w.-]+)\((\d+),\d+\)/gm, (position, file, line) => {
    const program = programs.find((candidate) => candidate.file === file)
    return program ? `${program.where}, line ${line} of the program` : position
  })
  return [located]
}

/** What JavaScript may do that strict types forbid: rely on the environment, and add to a request. */
function liberties(programs) {
  const variables = programs.flatMap(({ code }) => code.match(/(?<=process\.env\.)\w+/g) ?? [])
  const types = [...new Set(variables)].map((name) => `interface ProcessEnv { ${name}: string }`).join('\n')
  const text = `declare global { namespace NodeJS { ${types} } }
    declare module 'http' { interface IncomingMessage { rawBody?: Buffer } }
    export {}`
  writeFileSync(join(folder, 'liberties.d.ts'), text)
  return 'liberties.d.ts'
}

function run({ file, where, environment }) {
  const compiled = join(folder, 'out', file.replace(/ts$/, 'js'))
  if (!existsSync(compiled)) return [`${where}: cannot be run, as it was not compiled`]
  const { status, output } = node([compiled], { cwd: folder, env: { ...process.env, ...environment } })
  return status === 0 ? [] : [`${where}: ended with ${status}\n${output}`]
}
