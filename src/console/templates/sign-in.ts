export const SIGN_IN = `<% layout('@layout', it.frame) %>
<form class="sign-in" method="post" action="<%= it.href %>">
<h1>Sign in</h1>
<% if (it.problem) { %><p class="problem" role="alert"><%= it.problem %></p><% } %>
<input type="hidden" name="token" value="<%= it.formToken %>">
<label class="field"><span>Name</span><input type="text" name="name" value="<%= it.name %>" maxlength="100" autocomplete="username" required<% if (!it.name) { %> autofocus<% } %>></label>
<label class="field"><span>Password</span><input type="password" name="password" maxlength="1000" autocomplete="current-password" required<% if (it.name) { %> autofocus<% } %>></label>
<div class="buttons"><button>Sign in</button></div>
</form>
`
