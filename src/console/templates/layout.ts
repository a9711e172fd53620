/** The layout of every page. `it.body` is the content of the page. */
export const LAYOUT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content='{"history":false,"includeIndicatorCSS":false,"defaultTimeout":10000,"morphIgnore":["data-htmx-powered","open"],"noSwap":[204,304,"4xx","5xx"]}'>
<title><%= it.title %> · Countersign</title>
<link rel="icon" href="<%= it.root + it.paths.icon %>" type="image/svg+xml">
<% if (it.hasChart) { %><link rel="stylesheet" href="<%= it.root + it.paths.chartStyle %>"><% } %>
<link rel="stylesheet" href="<%= it.root + it.paths.style %>">
<% if (it.hasChart) { %><script src="<%= it.root + it.paths.chart %>" defer></script><% } %>
<% if (it.isLive) { %><script src="<%= it.root + it.paths.live %>" defer></script><% } %>
<script src="<%= it.root + it.paths.script %>" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="brand" href="<%= it.root %>./"><img src="<%= it.root + it.paths.icon %>" alt="" width="20" height="20">Countersign</a>
<% if (it.operator) { %>
<nav aria-label="Pages">
<% for (const link of it.links) { %><a href="<%= it.root + link.href %>"<% if (link.isCurrent) { %> aria-current="page"<% } %>><%= link.text %></a>
<% } %></nav>
<p class="who"><span class="name" title="<%= it.operator.name %>"><%= it.operator.name %></span><span class="role"><%= it.operator.role %></span></p>
<% if (it.token) { %><form method="post" action="<%= it.root %>sign-out"><input type="hidden" name="token" value="<%= it.token %>"><button class="quiet">Sign out</button></form><% } %>
<% } %>
</header>
<main id="main" tabindex="-1">
<% if (it.isLive) { %><p id="stale" class="problem" role="alert" hidden>This page is not being updated: the console does not answer, or it cannot read the inbox.</p><% } %>
<%~ it.body %>
</main>
</body>
</html>
`

export const TIME = `<time datetime="<%= it.iso %>" title="<%= it.exact %>"><%= it.text %></time>`

export const STATE = `<span class="state <%= it.state %>"><%= it.state %></span>`

/** The answer to a request for which there is no page. */
export const MESSAGE = `<% layout('@layout', it.frame) %>
<h1><%= it.frame.title %></h1>
<p><%= it.text %></p>
<p><a href="<%= it.frame.root %>./">Overview</a></p>
`
