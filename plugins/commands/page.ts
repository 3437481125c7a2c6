// The command `page`: prints a link to the control page that signs a browser in.
import { defineCommand } from 'svc-gateway/plugin'

const page = defineCommand({
  name: 'page',
  description: 'Print a link to the control page. It signs a browser in once, within five minutes.',
  needs: ['control'],
  json: 'one JSON object with the link as `url`',
  examples: ['page', 'page --url https://hooks.example.com'],
  run: async ({ json }, { control, terminal }) => {
    const { path } = await control.post<{ path: string }>('/api/page/link', {})
    const url = control.address + path
    if (json) terminal.printJson({ url })
    else terminal.print(url)
  },
})

export default page
