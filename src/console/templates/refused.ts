export const LIVE_REFUSED = `<% if (it.counts.length === 0) { %><p class="note">No request was refused since <%~ include('@time', it.since) %>.</p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Counts by reason"><table class="stacked">
<thead><tr><th scope="col">Code</th><th scope="col" class="number">Last hour</th><th scope="col" class="number">Since the start</th><th scope="col">Last</th><th scope="col">Reason</th></tr></thead>
<tbody><% for (const row of it.counts) { %><tr><td class="mono"><%= row.code %></td><td class="number" data-label="Last hour"><%= row.lastHour %></td><td class="number" data-label="Since the start"><%= row.total %></td><td data-label="Last"><%~ include('@time', row.lastAt) %></td><td class="text"><%= row.reason %></td></tr>
<% } %></tbody></table></div><% } %>
`

/** The answer that the page polls for its lists, which are not updated, so that nothing moves under the pointer. */
export const REFUSED_CHANGES = `<% if (it.isChanged) { %><a href="refused">Update lists</a><% } %>`

export const REFUSED = `<% layout('@layout', it.frame) %>
<div class="head"><h1>Refused requests</h1><% if (it.changesHref) { %><p class="news" aria-live="polite" hx-get="<%= it.changesHref %>" hx-trigger="every 5s" hx-swap="innerMorph swapEmpty:true"></p><% } %></div>
<% if (!it.live) { %><p class="note">The console of this process sees only the inbox. The receivers know which requests they refused.</p><% } else { %>
<p class="note">Counted in this process since <%~ include('@time', it.live.since) %>. Bodies and signatures of refused requests are not kept.</p>
<section aria-label="Refused requests by reason"><div hx-get="live/refused" hx-trigger="every 5s" hx-swap="innerMorph"><%~ include('@liveRefused', it.live) %></div></section>
<section aria-labelledby="causes-title"><h2 id="causes-title">Causes that were found</h2>
<% if (it.causes.length === 0) { %><p class="note">The diagnosis has found no cause.</p><% } else { %>
<div class="scroll" tabindex="0" role="group" aria-label="Causes"><table class="stacked">
<thead><tr><th scope="col">Last found</th><th scope="col" class="number">Times</th><th scope="col">Cause</th><th scope="col">Certainty</th><th scope="col">What to do</th></tr></thead>
<tbody><% for (const found of it.causes) { %><tr><td><%~ include('@time', found.at) %></td><td class="number" data-label="Times"><%= found.count %></td><td class="mono"><%= found.cause %></td><td><%= found.certainty %></td><td class="text"><%= found.cure %></td></tr>
<% } %></tbody></table></div><% } %></section>
<section aria-labelledby="latest-title"><h2 id="latest-title">The latest</h2>
<% if (it.latest.length === 0) { %><p class="note">None.</p><% } else { %>
<p class="note">Key and event type are what the sender wrote. Nothing of it is verified.</p>
<div class="scroll" tabindex="0" role="group" aria-label="The latest refused requests"><table>
<thead><tr><th scope="col">Time</th><th scope="col">Code</th><th scope="col" class="number">Status</th><th scope="col">Idempotency key</th><th scope="col">Event type</th></tr></thead>
<tbody><% for (const row of it.latest) { %><tr><td><%~ include('@time', row.at) %></td><td class="mono"><%= row.code %></td><td class="number"><%= row.status %></td><td class="mono clip key" title="<%= row.idempotencyKey %>"><%= row.idempotencyKey %></td><td class="clip" title="<%= row.eventType %>"><%= row.eventType %></td></tr>
<% } %></tbody></table></div><% } %></section><% } %>
`
