import { MAX_REASON_LENGTH } from '../../inbox/operator-action.js'

/** The preview of a decision on all matching entries. */
export const DECIDE = `<% layout('@layout', it.frame) %>
<h1><%= it.title %></h1>
<p class="lead"><%= it.summary %></p>
<% if (it.furtherHref) { %><p><a href="<%= it.furtherHref %>">Search further</a></p><% } %>
<dl class="facts"><% for (const part of it.filter) { %><div><dt><%= part.name %></dt><dd><%= part.text %></dd></div>
<% } %></dl>
<% if (it.rows.length > 0) { %>
<form class="decide" method="post" action="decide" aria-label="Confirm">
<input type="hidden" name="token" value="<%= it.formToken %>">
<input type="hidden" name="action" value="<%= it.action %>">
<input type="hidden" name="entries" value="<%= it.entries %>">
<input type="hidden" name="back" value="<%= it.backHref %>">
<label class="field"><span>Reason of your decision<%= it.reasonRequired ? '' : ' (optional)' %></span>
<input type="text" name="reason" maxlength="${MAX_REASON_LENGTH}" autocomplete="off"<% if (it.reasonRequired) { %> required<% } %>></label>
<div class="buttons"><button<% if (it.action === 'discard') { %> class="danger"<% } %>><%= it.confirm %></button> <a href="<%= it.backHref %>">Cancel</a></div>
</form>
<section aria-label="Entries that match"><%~ include('@entryTable', { rows: it.rows, label: 'List of entries' }) %></section>
<% } else { %><p><a href="<%= it.backHref %>">Back to the list</a></p><% } %>
`

/** The result of a decision on many entries. */
export const DECIDED = `<% layout('@layout', it.frame) %>
<h1><%= it.title %></h1>
<% if (it.problem) { %><p class="problem" role="alert"><%= it.problem %></p><% } %>
<p class="lead" role="status"><%= it.summary %></p>
<% if (it.refused.length > 0 || it.left) { %>
<section aria-labelledby="refused-title"><h2 id="refused-title">Not done</h2>
<div class="scroll" tabindex="0" role="group" aria-label="Not done"><table class="stacked">
<thead><tr><th scope="col">Entry</th><th scope="col">Why</th></tr></thead>
<tbody><% for (const one of it.refused) { %><tr><td><a class="mono" href="<%= one.href %>"><%= one.id %></a></td><td class="text"><%= one.message %></td></tr>
<% } %></tbody></table></div><% if (it.left) { %><p class="note"><%= it.left %></p><% } %></section><% } %>
<p><a href="<%= it.backHref %>">Back to the list</a></p>
`
