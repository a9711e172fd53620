import { MAX_REASON_LENGTH } from '../../inbox/operator-action.js'

/** What can change while the page is open, above and below the form. */
export const ENTRY_HEAD = `<div class="head"><h1>Entry <span class="mono"><%= it.id %></span></h1><%~ include('@state', it) %></div>
<p class="lead"><%= it.meaning %></p>
<% if (it.reason) { %><p class="reason"><span>Reason</span> <%= it.reason %></p><% } %>
`

export const ENTRY_RECORDS = `<dl class="facts">
<% for (const fact of it.facts) { %><div><dt><%= fact.name %></dt><dd<% if (fact.isCode) { %> class="mono"<% } %>><% if (fact.at) { %><%~ include('@time', fact.at) %><% } else { %><%= fact.text %><% } %></dd></div>
<% } %></dl>
<section aria-labelledby="attempts-title"><h2 id="attempts-title">Attempts</h2>
<% if (it.attempts.length === 0) { %><p class="note">Its handlers have not begun.</p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Attempts"><table class="stacked">
<thead><tr><th scope="col" class="number">No.</th><th scope="col">Began</th><th scope="col" class="number">Took</th><th scope="col">Result</th><th scope="col">Code</th><th scope="col">Error</th></tr></thead>
<tbody><% for (const attempt of it.attempts) { %><tr><td class="number"><%= attempt.number %></td><td><%~ include('@time', attempt.startedAt) %></td><td class="number"><%= attempt.took %></td><td><%= attempt.result %></td><td class="mono"><%= attempt.code %></td><td class="text"><%= attempt.error %></td></tr>
<% } %></tbody></table></div><% } %>
</section>
<section aria-labelledby="history-title"><h2 id="history-title">Decisions</h2>
<% if (it.history.length === 0) { %><p class="note">Nobody has decided about it.</p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Decisions"><table class="stacked">
<thead><tr><th scope="col">Time</th><th scope="col">Decision</th><th scope="col">By</th><th scope="col">Reason</th></tr></thead>
<tbody><% for (const item of it.history) { %><tr><td><%~ include('@time', item.at) %></td><td><%= item.action %></td><td><%= item.by %></td><td class="text"><%= item.reason %></td></tr>
<% } %></tbody></table></div><% } %>
</section>
<% if (it.related.length > 0) { %>
<section aria-labelledby="related-title"><h2 id="related-title">Related entries</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Related entries"><table>
<thead><tr><th scope="col">Entry</th><th scope="col">State</th><th scope="col">What they share</th></tr></thead>
<tbody><% for (const other of it.related) { %><tr><td><a class="mono" href="<%= other.href %>"><%= other.id %></a></td><td><%~ include('@state', other) %></td><td><%= other.shares %></td></tr>
<% } %></tbody></table></div></section><% } %>
`

/**
 * The answer that the page polls. The form is not updated, so that no other decision comes under the pointer and a reason is not lost. The
 * line above the form says that it is for an earlier version of the entry. Such a form is refused.
 */
export const LIVE_ENTRY = `<%~ include('@entryRecords', it) %>
<div id="entry-head" hx-swap-oob="innerMorph"><%~ include('@entryHead', it) %></div>
<% if (it.mayDecide) { %><p id="news" hx-swap-oob="innerMorph"><% if (it.isChanged) { %>The entry has changed. <a href="<%= it.href %>">Open its form</a><% } %></p><% } %>
`

/**
 * The first button of the form is disabled, so that Enter in the reason decides nothing (HTML, "implicit submission"). Otherwise it would
 * press the first decision, such as Release.
 */
export const ENTRY = `<% layout('@layout', it.frame) %>
<% if (it.problem) { %><p class="problem" role="alert"><%= it.problem %></p><% } %>
<% if (it.confirmed) { %><p class="done" role="status">Your decision “<%= it.confirmed.action %>” was recorded on <%~ include('@time', it.confirmed.at) %></p><% } %>
<div id="entry-head"><%~ include('@entryHead', it) %></div>
<% if (it.mayDecide) { %><p id="news" class="news" aria-live="polite"></p><% } %>
<% if (it.decisions.length > 0) { %>
<form class="decide" method="post" action="<%= it.href %>" aria-label="Decide">
<button disabled hidden></button>
<input type="hidden" name="token" value="<%= it.formToken %>">
<input type="hidden" name="seen" value="<%= it.seen %>">
<label class="field"><span>Reason of your decision<%= it.reasonRequired ? '' : ' (optional)' %></span>
<input type="text" name="reason" value="<%= it.givenReason %>" maxlength="${MAX_REASON_LENGTH}" autocomplete="off"<% if (it.reasonRequired) { %> required<% } %>></label>
<% if (it.offersAgain) { %><label class="check"><input type="checkbox" name="again" value="yes"> Do it although the callback is then handled a second time</label><% } %>
<div class="buttons"><% for (const decision of it.decisions) { %><button name="action" value="<%= decision.action %>"<% if (decision.action === 'discard') { %> class="danger"<% } %>><%= decision.text %></button>
<% } %></div>
</form><% } %>
<div id="live" hx-get="<%= it.liveHref %>" hx-trigger="every 2s" hx-swap="innerMorph"><%~ include('@entryRecords', it) %></div>
<section aria-labelledby="headers-title"><h2 id="headers-title">Headers</h2>
<% if (it.headers.length === 0) { %><p class="note">No headers are stored with it.</p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Headers"><table class="stacked">
<thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead>
<tbody><% for (const header of it.headers) { %><tr><th scope="row" class="mono"><%= header.name %></th><td class="mono text"><%= header.value %></td></tr>
<% } %></tbody></table></div><% if (it.headersAreCut) { %><p class="note">Further headers are not stored.</p><% } %><% } %>
</section>
<section aria-labelledby="body-title"><div class="head"><h2 id="body-title">Body</h2>
<% if (it.payload) { %><ul class="switch" aria-label="View of the body"><% for (const view of it.payload.views) { %><li><a href="<%= view.href %>"<% if (view.isCurrent) { %> aria-current="true"<% } %>><%= view.text %></a></li>
<% } %></ul><% } %></div>
<% if (it.payload) { %><% if (it.payload.note) { %><p class="note"><%= it.payload.note %></p><% } %>
<pre class="payload" tabindex="0" role="group" aria-label="Body"><%= it.payload.text %></pre>
<% } else { %><p class="note"><%= it.noBody %></p><% } %>
</section>
`
