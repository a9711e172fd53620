import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseDocument } from './document.mjs'
import { root } from './project.mjs'

/** Relative links must lead to a file that is there, and to one of its headings. */
export function checkLinks({ path, prose }) {
  const problems = []
  for (const [index, line] of prose.entries()) {
    for (const target of targetsIn(line)) {
      const [file, anchor] = target.split('#')
      const linked = file === '' ? path : relative(root, join(root, dirname(path), decodeURIComponent(file)))
      const isMarkdown = linked.endsWith('.md')
      const where = `${path}:${index + 1}: ${target}`
      if (!existsSync(join(root, linked))) problems.push(`${where}: there is no ${linked}`)
      else if (anchor && isMarkdown && !parseDocument(linked).anchors.has(anchor)) {
        problems.push(`${where}: ${linked} has no such heading`)
      }
    }
  }
  return problems
}

function targetsIn(line) {
  const text = line.replace(/(`+).*?\1/g, '')
  const targets = [...text.matchAll(/\]\(<?([^)\s>]+)|^\s*\[[^\]]+\]:\s*<?([^\s>]+)/g)]
  return targets
    .map(([, inline, reference]) => inline ?? reference)
    .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target))
}
