import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { read, root } from './project.mjs'

/** A document's code blocks, its lines with the code left out, the anchors of its headings, and what is wrong with it. */
export function parseDocument(path) {
  const document = { path, blocks: [], prose: [], problems: [] }
  let open
  let before = ''
  for (const [index, line] of read(path).split('\n').entries()) {
    const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(line)
    document.prose.push(open || fence ? '' : line)
    if (open && fence?.[2].startsWith(open.fence) && fence[3] === '') {
      addBlock(document, open)
      open = undefined
    } else if (open) {
      open.lines.push(line.slice(open.indent))
    } else if (fence) {
      const comment = /^\s*<!--\s*(.*?)\s*-->\s*$/.exec(before)?.[1] ?? ''
      const [, { length: indent }, marks, language] = fence
      open = { where: `${path}:${index + 1}`, comment, fence: marks, indent, language, lines: [] }
    }
    if (line.trim() !== '') before = line
  }
  if (open) document.problems.push(`${open.where}: the code block never ends`)
  return { ...document, anchors: anchorsOf(document.prose) }
}

function addBlock({ path, blocks, problems }, { where, comment, language, lines }) {
  const block = {
    path,
    where,
    language: language === 'bash' ? 'sh' : language,
    code: `${lines.join('\n')}\n`,
  }
  // A block without a word for what it is could be a program that nobody compiles.
  if (language === '') problems.push(`${where}: say what the code block holds: ts, js, sh, json, text, ...`)
  if (/^not run: \S/.test(comment)) return
  // Not compiled again: its imports are installed where the example is.
  const [, example] = /^from (examples\/\S+)$/.exec(comment) ?? []
  if (example) {
    if (!existsSync(join(root, example))) problems.push(`${where}: there is no ${example}`)
    else if (!unindented(read(example)).includes(unindented(block.code)))
      problems.push(`${where}: ${example} has other lines`)
    return
  }
  if (comment === 'continues') {
    const program = blocks.findLast((other) => other.language === block.language)
    if (program) program.code += block.code
    else problems.push(`${where}: there is no ${language} block that this one could continue`)
    return
  }
  const run = /^run(?:\s+(.*))?$/.exec(comment)
  if (run)
    block.environment = Object.fromEntries(
      [...(run[1] ?? '').matchAll(/(\w+)=(\S*)/g)].map((pair) => pair.slice(1)),
    )
  blocks.push(block)
}

/** Prettier moves a part of a function to the left. */
function unindented(code) {
  return code.replace(/^\s+/gm, '')
}

/** As GitHub makes them: lower case, no punctuation, a hyphen for each space, a number when the same comes again. */
function anchorsOf(prose) {
  const anchors = new Set()
  for (const line of prose) {
    for (const [, name] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(name)
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1]
    if (heading === undefined) continue
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const slug = text.replace(/[^\p{L}\p{N}\p{Pc} -]/gu, '').replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}
