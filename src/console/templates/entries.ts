/** Rows of entries. htmx replaces the elements with numbered ids by those of `@liveEntries`. */
export const ENTRY_TABLE = `<div class="scroll" tabindex="0" role="group" aria-label="<%= it.label %>">
<table class="entries">
<thead><tr><th scope="col">Received</th><th scope="col">State</th><th scope="col">Event type</th><th scope="col">Idempotency key</th><th scope="col">Id</th><th scope="col" class="number">Attempts</th><th scope="col">Reason</th></tr></thead>
<tbody>
<% it.rows.forEach((row, index) => { %><tr>
<td><a href="<%= row.href %>"><%~ include('@time', row.receivedAt) %></a></td>
<td><span id="state-<%= index %>"><%~ include('@state', row) %></span></td>
<td class="clip" title="<%= row.eventType %>"><%= row.eventType %></td>
<td class="mono"><%= row.idempotencyKey %></td>
<td class="mono clip short" title="<%= row.bodyId %>"><%= row.bodyId %></td>
<td class="number"><span id="attempts-<%= index %>"><%= row.attempts %></span></td>
<td class="clip wide" title="<%= row.reason %>"><%= row.reason %></td>
</tr>
<% }) %></tbody>
</table>
</div>
`

/** The answer that the list polls: the line about new entries, and the states of the rows on the page. */
export const LIVE_ENTRIES = `<% if (it.news) { %><a href="<%= it.newestHref %>"><%= it.news %></a><% } %>
<% for (const row of it.rows) { %><span id="state-<%= row.index %>" hx-swap-oob="innerHTML"><% if (row.state) { %><%~ include('@state', row) %><% } else { %><span class="state changed">changed</span><% } %></span>
<% if (row.state) { %><span id="attempts-<%= row.index %>" hx-swap-oob="innerHTML"><%= row.attempts %></span><% } %>
<% } %>`

export const ENTRIES = `<% layout('@layout', it.frame) %>
<h1>Entries</h1>
<form class="filters" method="get" action="entries" aria-label="Filters">
<fieldset class="states"><legend>State</legend>
<% for (const state of it.states) { %><label><input type="checkbox" name="state" value="<%= state.name %>"<% if (state.isChosen) { %> checked<% } %>> <%= state.name %></label>
<% } %></fieldset>
<% for (const field of it.fields) { %><label class="field"><span><%= field.label %></span>
<input type="<%= field.type %>" name="<%= field.name %>" value="<%= field.value %>" maxlength="<%= field.maxLength %>"<% if (field.type === 'datetime-local') { %> step="<%= field.value.includes('.') ? '0.001' : '1' %>"<% } %> autocomplete="off" spellcheck="false"></label>
<% } %>
<div class="buttons"><button>Show</button> <a href="entries">Clear</a></div>
</form>
<% if (it.problem) { %><p class="problem" role="alert"><%= it.problem %></p><% } %>
<p id="news" class="news" aria-live="polite"<% if (it.liveHref) { %> hx-get="<%= it.liveHref %>" hx-trigger="every 5s" hx-swap="innerMorph swapEmpty:true"<% } %>></p>
<% if (it.empty) { %><p class="note"><%= it.empty %></p><% } %>
<% if (it.rows.length > 0) { %>
<section aria-label="Entries"><%~ include('@entryTable', { rows: it.rows, label: 'List of entries' }) %></section><% } %>
<% if (it.newerHref || it.olderHref) { %><nav class="pages" aria-label="Pages of the list">
<% if (it.newerHref) { %><a href="<%= it.newerHref %>" rel="prev"><%= it.newerText %></a><% } %>
<% if (it.olderHref) { %><a href="<%= it.olderHref %>" rel="next"><%= it.olderText %></a><% } %>
</nav><% } %>
<% if (it.bulk.length > 0) { %>
<section aria-labelledby="bulk-title"><h2 id="bulk-title">Decide on all that match</h2>
<p class="note">The next page shows how many entries match, and which. Nothing is done before you confirm there.</p>
<ul class="actions"><% for (const action of it.bulk) { %><li><a class="button" href="<%= action.href %>"><%= action.text %></a></li>
<% } %></ul></section><% } %>
`
