// Samples of Netlify's webhooks: a deploy that failed, one that went live, and a form.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const live = { ...deploy, id, updated_at: now }
  const failed = { ...live, state: 'error', error_message: 'Build script returned non-zero exit code: 2' }
  const form = {
    id,
    form_id: 'f1',
    form_name: 'contact',
    site_url: 'https://shop.example.com',
    number: 42,
    data: { name: 'Ada', message: 'Where is my order?' },
  }
  return [
    { name: 'deploy-failed', payload: failed, headers: { 'x-netlify-event': 'deploy_failed' } },
    { name: 'deploy-created', payload: live, headers: { 'x-netlify-event': 'deploy_created' } },
    { name: 'submission-created', payload: form, headers: { 'x-netlify-event': 'submission_created' } },
  ]
}

const deploy = {
  site_id: 'fa4dd95a-0000-4000-8000-000000000001',
  build_id: '5ebc34be3dd8a1000611b7a2',
  state: 'ready',
  name: 'octo-shop',
  url: 'https://shop.example.com',
  ssl_url: 'https://shop.example.com',
  admin_url: 'https://app.netlify.com/sites/octo-shop',
  deploy_ssl_url: 'https://5ebc34bf--octo-shop.netlify.app',
  error_message: null,
  commit_ref: '1dc6aa69429bff4806ad6afe58d3d8f57e25973e',
  commit_url: 'https://github.com/octo/shop/commit/1dc6aa6',
  branch: 'main',
  context: 'production',
  title: 'Keep the cart',
  committer: 'ada',
}
