import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifest, read, root } from './project.mjs'

const INDEX = 'llms.txt'

/** llms.txt lists the pages for tools: the title of each, and the first sentence, which says what the page answers. */
export function checkIndex(documents) {
  const isWritten = existsSync(join(root, INDEX)) && read(INDEX) === indexOf(documents)
  return isWritten ? [] : [`${INDEX}: is not the list of the pages: run node .ci/docs-check.mjs --write`]
}

export function writeIndex(documents) {
  writeFileSync(join(root, INDEX), indexOf(documents))
}

function indexOf(documents) {
  const paths = documents.map(({ path }) => path).toSorted()
  const section = (heading, pages) => [`## ${heading}`, '', ...pages.map(line), '']
  const isUsers = (path) => path.startsWith('docs/') || path === 'README.md'
  const lines = [
    `# ${manifest.name[0].toUpperCase()}${manifest.name.slice(1)}`,
    '',
    `> ${manifest.description}`,
    '',
    ...section('Pages', paths.filter(isUsers)),
    ...section(
      'Repository',
      paths.filter((path) => !isUsers(path)),
    ),
  ]
  return lines.join('\n')
}

function line(path) {
  const [, title, paragraph] = /^# (.*)\n\n([^]*?)\n\n/.exec(read(path)) ?? []
  const text = (paragraph ?? '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\n', ' ')
    .replace(/^This page /, '')
  const sentence = /^.*?\.(?= |$)/.exec(text)?.[0] ?? text
  return `- [${title}](${path})${/^\w/.test(sentence) ? `: ${sentence.replace(/[.:]$/, '')}` : ''}`
}
