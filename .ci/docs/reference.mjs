import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import prettier from 'prettier'
import { manifest, read, root } from './project.mjs'

// TypeScript 7 has no compiler API. attw, which checks the package, depends on a version that has one.
const ofAttw = createRequire(createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json'))
const ts = createRequire(ofAttw.resolve('@arethetypeswrong/core'))('typescript')

const FOLDER = 'docs/api'
const RELATIVE_ONLY = ts.ModuleResolutionKind.Classic

/** docs/api has each export with its docstring and its declaration, a page for each entry point. */
export async function checkReference() {
  const { pages, problems } = await reference()
  const written = existsSync(join(root, FOLDER)) ? readdirSync(join(root, FOLDER)) : []
  const stale = [...new Set([...pages.keys(), ...written])].filter(
    (name) => !written.includes(name) || read(`${FOLDER}/${name}`) !== pages.get(name),
  )
  return [
    ...problems,
    ...stale.map(
      (name) =>
        `${FOLDER}/${name}: is not what the types of the package say: run node .ci/docs-check.mjs --write`,
    ),
  ]
}

export async function writeReference() {
  mkdirSync(join(root, FOLDER), { recursive: true })
  const { pages } = await reference()
  for (const [name, text] of pages) writeFileSync(join(root, FOLDER, name), text)
}

async function reference() {
  const entries = Object.entries(manifest.exports).filter(([, { types }]) => types)
  const files = entries.map(([, { types }]) => join(root, types))
  // The declarations are printed and not checked, so that neither the library nor a dependency is read.
  const program = ts.createProgram(files, { noLib: true, types: [], moduleResolution: RELATIVE_ONLY })
  const checker = program.getTypeChecker()
  const config = await prettier.resolveConfig(join(root, FOLDER, 'page.md'))
  const pages = new Map()
  const problems = []
  for (const [index, [subpath]] of entries.entries()) {
    const specifier = `${manifest.name}${subpath.slice(1)}`
    const module = checker.getSymbolAtLocation(program.getSourceFile(files[index]))
    const exported = checker.getExportsOfModule(module).map((symbol) => describe(symbol, checker))
    exported.sort((one, other) => one.name.localeCompare(other.name, 'en'))
    problems.push(...exported.flatMap((each) => each.problems.map((problem) => `${specifier}: ${problem}`)))
    const text = pageOf(specifier, exported)
    const name = subpath === '.' ? manifest.name : subpath.slice(2)
    pages.set(`${name}.md`, await prettier.format(text, { ...config, parser: 'markdown' }))
  }
  return { pages, problems }
}

function pageOf(specifier, exported) {
  const intro =
    `This page has each export of \`${specifier}\` with its docstring and its declaration. It is generated from the types of the ` +
    'package. [Exported names](../api.md) says what each name is for.'
  const sections = exported.map(
    ({ name, doc, code }) => `## \`${name}\`\n\n${inMarkdown(doc)}\n\n\`\`\`typescript\n${code}\n\`\`\`\n`,
  )
  return [`# Reference: ${specifier}\n`, `${intro}\n`, ...sections].join('\n')
}

function describe(symbol, checker) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const nodes = target.declarations.map(statementOf)
  const doc = nodes.map(docOf).find((text) => text !== '') ?? ''
  const problems = doc === '' ? [`${symbol.name} has no docstring`] : []
  return {
    name: symbol.name,
    doc,
    code: nodes.map(codeOf).join('\n'),
    problems: [...problems, ...nodes.flatMap((node) => undocumentedFields(symbol.name, node))],
  }
}

/** The comment of a constant stands before its statement. */
function statementOf(declaration) {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
}

/** The text of the last docstring before a node, without its stars. */
function docOf(node) {
  const comment = node.jsDoc?.at(-1)?.getText() ?? ''
  return comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .trim()
}

/** The declaration as the package has it, with the docstrings of its members. */
function codeOf(node) {
  return node.getText().replace(/^export (?:declare )?/, '')
}

/** Fields of options need a docstring, which says the default: editors show it where the option is written. */
function undocumentedFields(name, node) {
  if (!/Options$|^Config$/.test(name)) return []
  const members = node.members ?? node.type?.members ?? []
  return members.flatMap((member) => {
    const field = `${name}.${member.name?.getText() ?? '?'}`
    const doc = docOf(member)
    if (doc === '') return [`${field} has no docstring`]
    return member.questionToken && !/default|Give (?:this|either)/.test(doc)
      ? [`${field} does not say its default`]
      : []
  })
}

/** Tags as sentences, and pages as links. */
function inMarkdown(doc) {
  return doc
    .replaceAll(/^@(default|throws|returns|see)\b[ ]*/gm, (_, tag) => `\n_${tag}:_ `)
    .replaceAll(/(?<![\w(/[])docs\/([\w-]+\.md(?:#[\w-]+)?)/g, '[docs/$1](../$1)')
    .trim()
}
