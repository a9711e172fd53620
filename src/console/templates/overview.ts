/** The part of the overview that is updated without a reload. */
export const LIVE_OVERVIEW = `<div class="head"><h1>Overview</h1>
<% if (it.isCounting) { %><p class="note" id="counting" role="status" hx-get="live/overview?range=<%= it.range %>" hx-trigger="every 1s" hx-target="#live" hx-swap="innerMorph">The inbox is being counted.<noscript> Reload the page for the missing figures.</noscript></p>
<% } else { %><p class="note scripted" id="follows">This page follows the inbox.</p><% } %></div>
<ul class="tiles" aria-label="Entries by state">
<% for (const tile of it.tiles) { %><li><a class="tile <%= tile.state %><%= tile.needsDecision ? ' attention' : '' %>" href="<%= tile.href %>">
<span class="count"><%= tile.count %></span> <span class="label"><%= tile.state %></span></a></li>
<% } %></ul>
<dl class="facts">
<div><dt>Oldest unfinished entry</dt><dd><% if (it.oldest) { %><%= it.oldest.age %>, since <%~ include('@time', it.oldest.at) %><% } else { %><%= it.hasOldest ? 'none' : '…' %><% } %></dd></div>
<div><dt>Clock of this machine</dt><dd><%= it.clock %></dd></div>
</dl>
<section aria-labelledby="chart-title">
<div class="head"><h2 id="chart-title">Ended and quarantined entries, <%= it.rangeText %></h2>
<ul class="switch" aria-label="Period of the chart">
<% for (const range of it.ranges) { %><li><a href="<%= range.href %>"<% if (range.isCurrent) { %> aria-current="true"<% } %>><%= range.text %></a></li>
<% } %></ul></div>
<div id="chart" class="chart" role="img" aria-label="Chart of the entries that ended in the <%= it.rangeText %>, by outcome. The table below it has the figures." hx-morph-skip><noscript><p class="note">The chart needs JavaScript. The table has its figures.</p></noscript></div>
<details>
<summary>Figures of the chart</summary>
<% if (!it.rows) { %><p class="note">The inbox is being counted.</p><% } else { %>
<div class="scroll figures" tabindex="0" role="group" aria-label="Ended entries by time">
<table id="activity" data-bucket-s="<%= it.bucketS %>">
<thead><tr><th scope="col">From</th><% for (const outcome of it.outcomes) { %><th scope="col" class="number"><%= outcome %></th><% } %></tr></thead>
<tbody>
<% for (const row of it.rows) { %><tr><th scope="row"><%~ include('@time', row.at) %></th><% for (const count of row.counts) { %><td class="number"><%= count %></td><% } %></tr>
<% } %></tbody>
</table>
</div><% } %>
</details>
</section>
`

/**
 * The entries that wait for a decision, or a note that asks for them until they have been found. The list is not updated, so that nothing
 * moves under the pointer. The line beside its heading says when it has changed.
 */
export const WAITING = `<div class="head"><h2 id="decide-title">Waiting for a decision</h2>
<% if (it.changesHref) { %><p class="news" aria-live="polite" hx-get="<%= it.changesHref %>" hx-trigger="every 5s" hx-swap="innerMorph swapEmpty:true"></p><% } %></div>
<% if (!it.rows) { %><p class="note" role="status" hx-get="live/waiting" hx-trigger="every 1s" hx-target="#waiting" hx-swap="innerHTML">The inbox is being searched.<noscript> Reload the page for the entries.</noscript></p>
<% } else if (it.rows.length === 0) { %><p class="note">No entry waits for a decision.</p><% } else { %>
<%~ include('@entryTable', { rows: it.rows, label: 'Entries that wait for a decision' }) %>
<p class="more"><a href="entries?state=dead&amp;state=quarantined&amp;state=unhandled">All that wait for a decision</a></p><% } %>
`

/** The answer that the list polls. */
export const WAITING_CHANGES = `<% if (it.isChanged) { %><a href="./" hx-get="live/waiting" hx-target="#waiting" hx-swap="innerHTML">Update list</a><% } %>`

/** The secrets. `@liveSecrets` updates them: a secret that an open page shows as not used any more may still be used. */
export const SECRETS = `<% if (it.secrets.length === 0) { %><p class="note"><%= it.noSecrets %></p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Secrets">
<table class="stacked">
<thead><tr><th scope="col">Fingerprint</th><th scope="col">Event type</th><th scope="col">Last verified a callback</th></tr></thead>
<tbody>
<% for (const secret of it.secrets) { %><tr><td class="mono"><%= secret.fingerprint %></td><td><%= secret.eventType %></td><td><%~ include('@time', secret.at) %></td></tr>
<% } %></tbody>
</table>
</div><% } %>`

/** A part of the answer of `@liveOverview`. htmx puts it into its place below the list, which must not move. */
export const LIVE_SECRETS = `<div id="secrets" hx-swap-oob="innerMorph"><%~ include('@secrets', it) %></div>`

export const OVERVIEW = `<% layout('@layout', it.frame) %>
<div id="live" hx-get="live/overview?range=<%= it.range %>" hx-trigger="every 5s" hx-swap="innerMorph">
<%~ include('@liveOverview', it.live) %>
</div>
<section aria-labelledby="decide-title" id="waiting"><%~ include('@waiting', it.waiting) %></section>
<section aria-labelledby="secrets-title">
<h2 id="secrets-title">Secrets that verified callbacks</h2>
<div id="secrets"><%~ include('@secrets', it.secrets) %></div>
</section>
`
