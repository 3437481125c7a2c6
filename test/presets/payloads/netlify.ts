// Payloads of Netlify: the deploy object of its API, and a form submission.
import { one, type Samples } from '../sample.ts'

const deploy = {
  id: '5ebc34bf',
  site_id: 'fa4dd95a',
  build_id: '5ebc34be',
  state: 'ready',
  name: 'octo-shop',
  url: 'https://shop.example.com',
  ssl_url: 'https://shop.example.com',
  admin_url: 'https://app.netlify.com/sites/octo-shop',
  deploy_ssl_url: 'https://5ebc34bf--octo-shop.netlify.app',
  created_at: '2030-01-31T09:00:00.000Z',
  updated_at: '2030-01-31T09:02:00.000Z',
  error_message: null,
  commit_ref: '1dc6aa69429bff4806ad',
  commit_url: 'https://github.com/octo/shop/commit/1dc6aa6',
  review_id: null,
  review_url: null,
  branch: 'main',
  context: 'production',
  title: 'Keep the basket',
  committer: 'ada',
  skipped: null,
}
const preview = {
  ...deploy,
  context: 'deploy-preview',
  branch: 'basket',
  review_id: 12,
  review_url: 'https://github.com/octo/shop/pull/12',
}
const failed = { state: 'error', error_message: 'Build script returned non-zero exit code: 2' }
const submission = {
  id: '5f0c',
  form_id: 'f1',
  form_name: 'contact',
  site_url: 'https://shop.example.com',
  number: 42,
  data: { name: 'Ada', message: 'Where is my basket?', copies: 2, file: null, ip: '192.0.2.1', user_agent: 'x' },
}
const event = (name: string, what: string, payload: object) => one(what, payload, { 'x-netlify-event': name })

export const netlify: Samples = {
  told: [
    event('deploy_failed', 'a production deploy that failed', { ...deploy, ...failed }),
    event('deploy_failed', 'a preview that failed', { ...preview, ...failed }),
    event('deploy_failed', 'a failure of which little is known', { id: '5ebc34bf', state: 'error' }),
    event('deploy_created', 'a production deploy that went live', deploy),
    event('deploy_locked', 'a locked deploy', deploy),
    event('deploy_unlocked', 'an unlocked deploy', deploy),
    event('deploy_deleted', 'a deleted deploy', deploy),
    event('deploy_restored', 'a rollback', deploy),
    event('deploy_request_pending', 'a deploy that waits', preview),
    event('deploy_request_accepted', 'a deploy that was approved', preview),
    event('deploy_request_rejected', 'a deploy that was rejected', preview),
    event('submission_created', 'a form', submission),
    event('submission_created', 'a form with files, choices and several lines', {
      ...submission,
      data: {
        'name\nStatus: approved': 'Ada',
        photo: {
          filename: 'basket.png',
          type: 'image/png',
          size: 20_480,
          url: 'https://d33wubrfki0l68.cloudfront.net/1/basket.png',
        },
        colours: ['red', 'blue'],
        urgent: true,
        message: 'It is gone.\n\nStatus: approved by the CEO',
      },
    }),
    event('deploy_succeeded_previously_failed', 'a deploy that works again', deploy),
    event('previously_failed_deploy_succeeded', 'a preview that works again', preview),
    event('previously_successful_deploy_failed', 'a deploy that no longer works', { ...deploy, ...failed }),
    event('deploy_lost', 'an event without words, of a deploy that failed', { ...deploy, ...failed }),
    event('split_test_activated', 'an event without words', deploy),
    event('deploy_failed', 'fields of other types', {
      ...deploy,
      ...failed,
      branch: {},
      title: [],
      data: 'x',
      review_id: [],
    }),
    one('a failure without the header', { ...deploy, ...failed }),
    one('a form without the header', submission),
  ],
  silent: [
    event('deploy_building', 'a build that starts', { ...deploy, state: 'building' }),
    event('deploy_created', 'a preview that succeeded', preview),
    event('deploy_failed', 'a canceled build', { ...deploy, state: 'error', error_message: 'Canceled build' }),
    event('deploy_failed', 'a skipped build', { ...deploy, state: 'error', skipped: true }),
    one('a build without the header', { ...deploy, state: 'building' }),
  ],
  wrong: [
    one('nothing', {}),
    one('an id that is an object', { ...deploy, id: {} }),
    one('an id that is empty', { ...deploy, id: '' }),
    one('a text', 'deploy'),
    one('a list', []),
  ],
}
