// The page at /docs: Swagger UI for the OpenAPI document. The page loads the document when the visitor enters the
// credential.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { GatewayError } from '../errors.ts'

export interface PageFile {
  type: string
  content: string | Buffer
}

/** The page loads only its own files: no inline script or style, no embedding in frames, no submitted form. */
export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const

/** Returns a file of the page. The empty name is the page itself. */
export async function readPageFile(name: string): Promise<PageFile> {
  if (Object.hasOwn(ownFiles, name)) return ownFiles[name] as PageFile
  if (!Object.hasOwn(packageFiles, name)) throw new GatewayError('not_found')
  return { type: packageFiles[name] as string, content: await readFile(join(packageFolder(), name)) }
}

const packageFiles: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
}

function packageFolder(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
  } catch (cause) {
    throw new GatewayError(
      'not_found',
      'The optional package @fastify/swagger-ui is not installed, so this page is not available; /openapi.json is.',
      { cause },
    )
  }
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc-gateway: HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/page.js" defer></script>
</head>
<body>
<main>
<form>
<h1>svc-gateway</h1>
<label for="credential">Credential of the gateway</label>
<input id="credential" type="password" autocomplete="current-password" required autofocus>
<button>Show the interface</button>
<p role="alert"></p>
</form>
<div id="interface"></div>
</main>
</body>
</html>
`

/** The credential stays in the memory of the page until the page is closed. */
const script = `const form = document.querySelector('form')
const notice = document.querySelector('[role=alert]')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const credential = document.querySelector('#credential').value.trim()
  const response = await fetch('openapi.json', { headers: { authorization: 'Bearer ' + credential } })
  const spec = await response.json()
  const missing = window.SwaggerUIBundle
    ? ''
    : 'The optional package @fastify/swagger-ui is not installed; /openapi.json works without it.'
  notice.textContent = response.ok ? missing : spec.error.message
  if (notice.textContent) return
  form.remove()
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#interface',
    validatorUrl: null,
    persistAuthorization: false,
    onComplete: () => ui.preauthorizeApiKey('gateway', credential),
  })
})
`

const style = `body { margin: 0; font-family: system-ui, sans-serif; }
form { max-width: 24rem; margin: 15vh auto 0; padding: 0 1rem; display: grid; gap: 0.75rem; }
input, button { font: inherit; padding: 0.5rem; }
[role=alert] { margin: 0; min-height: 1.5em; color: #b00020; }
`

const ownFiles: Readonly<Record<string, PageFile>> = {
  '': { type: 'text/html; charset=utf-8', content: html },
  'page.js': { type: 'text/javascript; charset=utf-8', content: script },
  'page.css': { type: 'text/css; charset=utf-8', content: style },
}
