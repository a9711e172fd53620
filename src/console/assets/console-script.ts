/** The script of all pages. It draws the chart from the table of its figures, again after htmx has replaced a part of the page. */
export const CONSOLE_SCRIPT = `'use strict'
;(() => {
  const COLORS = { handled: '--handled', discarded: '--plain', quarantined: '--quarantined', dead: '--dead' }
  const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  const dark = matchMedia('(prefers-color-scheme: dark)')
  let plot
  let drawn = ''
  const figures = () => {
    const table = document.getElementById('activity')
    if (!table) return undefined
    const rows = [...table.tBodies[0].rows]
    return {
      bucketS: Number(table.dataset.bucketS),
      names: [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent),
      times: rows.map((row) => Date.parse(row.querySelector('time').dateTime) / 1000),
      texts: rows.map((row) => row.querySelector('time').textContent),
      counts: rows.map((row) => [...row.cells].slice(1).map((cell) => Number(cell.textContent))),
    }
  }
  const drawChart = () => {
    const place = document.getElementById('chart')
    const found = figures()
    if (!place || !found || typeof uPlot !== 'function') return
    const width = Math.floor(place.clientWidth)
    const state = JSON.stringify([found, dark.matches, width])
    if (state === drawn || width === 0) return
    drawn = state
    const { bucketS, names, times, texts, counts } = found
    // Stacked: each series is the sum of those before it, and the highest is drawn first.
    const sums = names.map((_, series) => counts.map((row) => row.slice(0, series + 1).reduce((a, b) => a + b, 0)))
    const order = names.map((_, series) => names.length - 1 - series)
    const axis = { stroke: colorOf('--soft'), grid: { stroke: colorOf('--line'), width: 1 }, ticks: { stroke: colorOf('--line'), width: 1 } }
    const splitText = (seconds) => {
      const text = new Date(seconds * 1000).toISOString()
      return text.includes('T00:00') ? text.slice(5, 10) : text.slice(11, 16)
    }
    const options = {
      width,
      height: 240,
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: false, y: false },
        // uPlot finds the closest time. A bar begins at its time, so the closest one to its right half is that of the next bar.
        dataIdx: (_, __, closest, seconds) => Math.max(0, times[closest] > seconds ? closest - 1 : closest),
      },
      scales: {
        // Multiples of the steps since 1970 are whole hours and days in UTC. uPlot would divide a time by the zone of the reader.
        x: { time: false, range: () => [times[0], times[times.length - 1] + bucketS] },
        y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] },
      },
      axes: [{ ...axis, label: 'UTC', size: 30, labelSize: 18, labelFont: '12px system-ui, sans-serif', values: (_, splits) => splits.map(splitText), incrs: [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400] }, { ...axis, size: 56, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000] }],
      series: [
        { label: 'from', value: (_, __, ___, index) => (index == null ? '' : texts[index]) },
        ...order.map((series) => ({
          label: names[series],
          fill: colorOf(COLORS[names[series]]),
          stroke: colorOf(COLORS[names[series]]),
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars({ size: [0.82, 60], align: 1 }),
          value: (_, __, ___, index) => (index == null ? '' : counts[index][series].toLocaleString()),
        })),
      ],
    }
    place.replaceChildren()
    if (plot) plot.destroy()
    plot = new uPlot(options, [times, ...order.map((series) => sums[series])], place)
  }

  let isPlanned = false
  const refresh = () => {
    isPlanned = false
    drawChart()
  }
  const plan = () => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(refresh)
  }
  refresh()
  const live = document.getElementById('live')
  if (live) new MutationObserver(plan).observe(live, { childList: true, subtree: true, characterData: true })
  addEventListener('resize', plan)
  dark.addEventListener('change', plan)
  const showStale = (isStale) => {
    const note = document.getElementById('stale')
    if (note) note.hidden = !isStale
  }
  // To open a page or to send a form a second time would break off the first. After this time the operator may have stopped the first.
  const AGAIN_MS = 30_000
  let openedAt = -AGAIN_MS
  // Several parts of a page ask at once, and each learns that the session has ended.
  const openAnew = () => {
    if (performance.now() < openedAt + AGAIN_MS) return
    openedAt = performance.now()
    // Not reload(): the page may be the answer to a form, which would then be sent again.
    location.replace(location.pathname + location.search)
  }
  // If the session has ended, the address of the page leads to a login: of the console, or of the application or the proxy in front. A
  // followed redirect to a login on another origin would look like a console that does not answer.
  document.addEventListener('htmx:config:request', (event) => {
    // Nobody looks at a page in the background. What it asks takes processor time from callbacks.
    if (document.hidden) event.preventDefault()
    event.detail.ctx.request.redirect = 'manual'
  })
  document.addEventListener('visibilitychange', () => {
    for (const polling of document.querySelectorAll('[hx-trigger^=every]')) polling.dispatchEvent(new Event('every'))
  })
  document.addEventListener('htmx:error', () => showStale(true))
  document.addEventListener('htmx:after:request', (event) => {
    const { status, raw } = event.detail.ctx.response
    showStale(status >= 400)
    // 404: the entry of the page was deleted.
    if (![401, 403, 404].includes(status) && raw.type !== 'opaqueredirect') return
    event.preventDefault()
    openAnew()
  })
  // A form that is sent again before its answer is there would be refused, because the first one has changed the entries. The page would
  // then say that nothing was done.
  const sentAt = new WeakMap()
  document.addEventListener('submit', (event) => {
    if (event.target.method !== 'post') return
    if (event.timeStamp < sentAt.get(event.target) + AGAIN_MS) event.preventDefault()
    else sentAt.set(event.target, event.timeStamp)
  })
  // Browsers block a form that is redirected to such a login, and show nothing.
  document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
    if (effectiveDirective === 'form-action') openAnew()
  })
})()
`
