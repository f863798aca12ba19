// Charts, tables and tabs whose points are known by formula, or come from jobs that run; steering by clicks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { column, histogram, importJob, textAt } from './import_metrics.mjs';
import { AXE, chart, Daemon, drawn, openBrowser, openPage, poll, range } from './rig.mjs';

const MILLION = 1_000_000;
// For what a busy machine trains.
const SLOW = 120_000;
let daemon, browser, context;
const pages = [];

async function open(place) {
  const page = await openPage(context, daemon, place);
  pages.push(page);
  return page;
}

before(async () => {
  daemon = await Daemon.start();
  browser = await openBrowser();
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
});

after(async () => {
  await browser?.close();
  await daemon?.close();
});

afterEach(async () => {
  const faults = pages.flatMap((page) => page.faults);
  for (const page of pages.splice(0)) await page.close();
  assert.deepEqual(faults, []);
});

// The table of a chart, as text; the newest first.
async function tableOf(card) {
  const button = card.getByRole('button', { name: 'as a table' });
  if ((await button.getAttribute('aria-pressed')) !== 'true') await button.click();
  return card.locator('.as-table tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
}

// Whole numbers from 0 to 999, and one spike.
const SPIKE = 654_321;
const valueAt = (step) => (step === SPIKE ? 50_000 : (step * 7919) % 1000);

// What the daemon says of points first to last: least, greatest, mean.
function bucketOf(first, last) {
  let [least, greatest, sum] = [Infinity, -Infinity, 0];
  for (let step = first; step <= last; ++step) {
    const value = valueAt(step);
    [least, greatest, sum] = [Math.min(least, value), Math.max(greatest, value), sum + value];
  }
  return [least, greatest, sum / (last - first + 1)];
}

// The buckets that a chart of one line draws, with the steps that each must hold: they have no gap and begin at `first`,
// and x is the middle of each.
async function bucketsOf(card) {
  const columns = await card.locator('.plot').evaluate((host) => [0, 1, 2, 3].map((i) => [...host.plot.data[i]]));
  return columns[0].map((x, i) => ({ x, drawn: columns.slice(1).map((c) => c[i]) }));
}

function assertExact(buckets, first) {
  for (const { x, drawn: [least, greatest, mean] } of buckets) {
    const last = 2 * x - first;
    const wanted = bucketOf(first, last);
    assert.deepEqual([least, greatest], wanted.slice(0, 2), `steps ${first} to ${last}`);
    assert.ok(Math.abs(mean - wanted[2]) <= 1e-9 * wanted[2], `${mean} is the mean ${wanted[2]} of steps ${first} to ${last}`);
    first = last + 1;
  }
  return first - 1;
}

test('a million points: there within a second, in bounded memory, exact at every zoom', async () => {
  const parts = [];
  for (let from = 1; from <= MILLION; from += 50_000) parts.push(column('loss', Array.from({ length: 50_000 }, (_, i) => [from + i, valueAt(from + i)])));
  const job = await importJob(daemon, 'million', parts);

  // Other work on this machine can only make it slower: the fastest of some tries is what the page takes.
  const took = [];
  while (!took.some((ms) => ms < 1000) && took.length < 15) {
    const page = await openPage(context, daemon, `/jobs/${job}`);
    took.push(
      await page.evaluate(async () => {
        const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
        let host;
        while ((host = document.querySelector('.plot'))?.plot === undefined || host.plot.data[0].length === 0) await frame();
        host.focus();
        host.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
        while (document.querySelector('.readout .where').textContent === 'newest') await frame();
        return performance.now();
      }),
    );
    await page.close();
  }
  assert.ok(took.some((ms) => ms < 1000), `${took} ms from the navigation to a chart that answers to a key`);

  const page = await open(`/jobs/${job}`);
  const card = await chart(page, 'loss');
  await poll(async () => (await drawn(card)).length > 0, 'points are drawn');
  let buckets = await bucketsOf(card);
  assert.ok(buckets.length >= 100 && buckets.length <= 1000);
  assert.equal(assertExact(buckets, 1), MILLION);
  assert.equal(buckets.filter(({ drawn: d }) => d[1] === 50_000).length, 1);

  // Around the spike, ever closer, until each point is one of its own.
  await card.locator('.plot').focus();
  const middle = await card.locator('.u-over').boundingBox();
  await page.mouse.move(middle.x + middle.width * ((SPIKE - 1) / (MILLION - 1)), middle.y + 50);
  for (let zooms = 0; buckets.some(({ drawn: d }) => d[0] !== d[1]); ++zooms) {
    assert.ok(zooms < 20);
    const before = await range(card);
    await page.keyboard.press('+');
    await poll(async () => (await range(card))[0] > before[0], 'the chart is zoomed');
    const [low, high] = await range(card);
    // The range is drawn before its buckets are asked for.
    await poll(async () => {
      buckets = await bucketsOf(card);
      return (await card.getAttribute('data-loading')) === 'false' && buckets[0].x >= Math.ceil(low) && buckets.at(-1).x <= high;
    }, 'its buckets are there');
    assert.equal(assertExact(buckets, Math.ceil(low)), Math.floor(high));
    const spikes = buckets.filter(({ drawn: d }) => d[1] === 50_000).length;
    assert.equal(spikes, low <= SPIKE && SPIKE <= high ? 1 : 0);
    if (spikes === 0) break;
    // The next zoom is around the spike's bucket.
    const box = await card.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + box.width * ((SPIKE - low) / (high - low)), box.y + 50);
  }
  assert.ok(buckets.some(({ x, drawn: d }) => x === SPIKE && d[2] === 50_000));

  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const heap = metrics.find((m) => m.name === 'JSHeapUsedSize').value;
  assert.ok(heap < 24 << 20, `${(heap / 2 ** 20).toFixed(1)} MiB of JavaScript objects`);
});

test('every chart is a table, too, by the keyboard', async () => {
  const job = await importJob(daemon, 'small', [
    Buffer.concat([column('loss', [[1, 0.5], [2, 0.25], [3, NaN]]), column('train_loss', [[2, 4]]), column('valid_loss', [[3, 8]])]),
  ]);
  const page = await open(`/jobs/${job}`);
  const card = await chart(page, 'loss');
  await poll(async () => (await drawn(card)).length === 2, 'points are drawn');
  const button = card.getByRole('button', { name: 'Show loss as a table' });
  for (let i = 0; i < 60 && !(await button.evaluate((e) => e === document.activeElement)); ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const table = page.getByRole('region', { name: 'loss as a table', exact: true });
  await table.waitFor();
  assert.deepEqual(await tableOf(card), [
    ['3', 'NaN', 'NaN', 'NaN', '1 (1 not finite)'],
    ['2', '0.25', '0.25', '0.25', '1'],
    ['1', '0.5', '0.5', '0.5', '1'],
  ]);
  // The table itself can be reached, and so scrolled.
  for (let i = 0; i < 5 && !(await table.evaluate((e) => e === document.activeElement)); ++i) await page.keyboard.press('Tab');
  assert.ok(await table.evaluate((e) => e === document.activeElement));
  const both = page.locator('section.chart[aria-label="train_loss, valid_loss"]');
  assert.deepEqual(await tableOf(both), [
    ['3', 'valid_loss', '8', '8', '8', '1'],
    ['2', 'train_loss', '4', '4', '4', '1'],
  ]);
  await button.click();
  await card.locator('.plot canvas').waitFor();
});

test('the System tab: a chart per quantity, a line per rank, in units', async () => {
  const GIB = 2 ** 30;
  const series = {
    'rank/0/cpu_percent': 95, 'rank/1/cpu_percent': 90, 'rank/0/rss_bytes': 1.5 * GIB, 'rank/1/rss_bytes': 1.25 * GIB,
    'gpu/0/utilization_percent': 88, 'gpu/0/memory_bytes': 40 * GIB, 'gpu/0/power_watts': 350, 'gpu/0/temperature_celsius': 61,
    'step_time/data': 0.0005, 'step_time/compute': 0.02, 'step_time/reduce': 0.004, 'step_time/optimizer': 0.002,
    samples_per_second: 5000, tokens_per_second: 60_000,
  };
  const columns = Object.entries(series).map(([name, value]) => column(name, [[1, value / 2], [2, value]]));
  const job = await importJob(daemon, 'machine', [Buffer.concat([column('loss', [[1, 1], [2, 0.5]]), ...columns])]);
  const page = await open(`/jobs/${job}/system`);
  await page.locator('section.chart').first().waitFor();
  const titles = () => page.locator('section.chart').evaluateAll((cards) => cards.map((card) => card.getAttribute('aria-label')));
  assert.deepEqual(await titles(), [
    'Samples per second', 'Tokens per second', 'Step time', 'CPU (100 % is one core)', 'Memory of the workers',
    'GPU utilization', 'GPU memory', 'GPU power', 'GPU temperature',
  ]);
  const readout = async (title) => {
    const card = await chart(page, title);
    await poll(async () => !/–/.test(await card.locator('.readout').textContent()), `${title} is there`);
    return card.locator('.readout .value').evaluateAll((values) => values.map((v) => [v.querySelector('.line-name')?.textContent ?? '', v.querySelector('b').textContent]));
  };
  assert.deepEqual(await readout('Memory of the workers'), [['rank 0', '1.5 GiB'], ['rank 1', '1.25 GiB']]);
  assert.deepEqual(await readout('CPU (100 % is one core)'), [['rank 0', '95 %'], ['rank 1', '90 %']]);
  assert.deepEqual(await readout('Step time'), [['data', '500 µs'], ['compute', '20 ms'], ['reduce', '4 ms'], ['optimizer', '2 ms']]);
  assert.deepEqual(await readout('GPU power'), [['', '350 W']]);
  await page.getByRole('link', { name: 'Metrics' }).click();
  await poll(async () => (await titles()).join() === 'loss', 'only the model is on the first tab');

  await page.goto(`${daemon.url}/#/compare?ids=${job}`);
  await page.locator('.summary').getByRole('button', { name: 'tokens_per_second' }).waitFor();
  assert.deepEqual(await titles(), ['loss', 'samples_per_second', 'tokens_per_second']);
  await page.getByRole('button', { name: 'System', exact: true }).click();
  await poll(async () => (await titles()).length === 3 + 12, 'the machine is shown when asked for');
  assert.equal(await page.locator('.summary thead').getByRole('button').count(), 3);
});

test('histograms and texts of an import, and of a tensor as a table', async () => {
  const job = await importJob(daemon, 'written', [
    Buffer.concat([
      column('loss', [[1, 1]]),
      // 16 values: the median lies two thirds into the second bin.
      histogram('grad/w', 1, 0, 4, [4, 12]),
      textAt('samples', 10, 'the cat <b>sat</b> → sat'),
      textAt('samples', 20, 'the dog → ran\nsecond line'),
      textAt('notes', 15, 'half way'),
    ]),
  ]);
  const page = await open(`/jobs/${job}/texts`);
  await page.locator('article.text').first().waitFor();
  const texts = () => page.locator('article.text pre').evaluateAll((all) => all.map((pre) => pre.textContent));
  assert.deepEqual(await texts(), ['the dog → ran\nsecond line', 'half way', 'the cat <b>sat</b> → sat']);
  assert.equal(await page.locator('article b').count(), 0);
  await page.getByLabel('Series').selectOption('samples');
  assert.deepEqual(await texts(), ['the dog → ran\nsecond line', 'the cat <b>sat</b> → sat']);
  await page.getByRole('link', { name: 'Histograms' }).click();
  const card = page.locator('section.chart[aria-label="grad/w"]');
  await card.locator('canvas').waitFor();
  assert.deepEqual(await tableOf(card), [['1', '0', '2', '2.667', '3.333', '4', '0']]);
});

test('pause by click, then resume: histograms, checkpoints and the comparison are live meanwhile', async () => {
  const job = await daemon.trainable('--epochs', 100000, '--batch-size', 64, '--checkpoint-every', 20, '--watch-every', 10, '--name', 'steered');
  const checkpoints = await open(`/jobs/${job}/checkpoints`);
  const histograms = await open(`/jobs/${job}/histograms`);
  const compare = await open(`/compare?ids=${job}`);
  const page = await open(`/jobs/${job}`);

  const saved = async () => {
    const cells = await checkpoints.locator('tbody tr td:first-child').allTextContents();
    return Math.max(0, ...cells.map((cell) => Number(cell.replace(/\D/g, ''))));
  };
  const first = await poll(saved, 'a checkpoint is listed', SLOW);
  await poll(async () => (await saved()) > first, 'a newer one is listed', SLOW);

  const card = histograms.locator('section.chart').first();
  await card.locator('canvas').waitFor();
  const watched = () => card.locator('canvas').evaluate((canvas) => canvas.width);
  const columns = await watched();
  await poll(async () => (await watched()) > columns + 1, 'newer histograms are drawn', SLOW);

  const overlaid = await chart(compare, 'loss');
  const newest = async () => (await drawn(overlaid)).at(-1)?.[0] ?? 0;
  const now = await poll(newest, 'a point is drawn');
  // With no answer to any question, newer points can come by the stream alone.
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await compare.route('**/ddp.v1.MetricService/*', async (route) => {
    await released;
    await route.continue();
  });
  await poll(async () => (await newest()) > now + 3, 'newer points are drawn', SLOW);
  release();
  await compare.unrouteAll({ behavior: 'wait' });
  const lossOf = () => compare.locator('.summary tbody td.number').first().textContent();
  const loss = await lossOf();
  await poll(async () => (await lossOf()) !== loss, 'the table has a newer loss');

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause the job' }).click();
  await page.locator('.state', { hasText: 'Paused' }).waitFor({ timeout: 30_000 });
  assert.equal(await daemon.state(job), 'PAUSED');
  const step = Number((await daemon.job(job)).progress.step);
  const points = await daemon.points(job, 'loss');
  assert.deepEqual(points.map(([s]) => s), Array.from({ length: step }, (_, i) => i + 1));
  await poll(async () => (await newest()) === step, 'the comparison has the last point');

  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume the job' }).click();
  await page.locator('.state', { hasText: 'Running' }).waitFor({ timeout: 30_000 });
  await poll(async () => (await newest()) > step, 'the comparison goes on');
  await poll(async () => (await saved()) > step, 'the checkpoints go on', SLOW);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
  await page.locator('.state', { hasText: 'Cancelled' }).waitFor({ timeout: 30_000 });
});

test('a checkpoint by click: verified, and the file is what ddpctl exports', async () => {
  const job = await daemon.trainable('--epochs', 2, '--name', 'saved');
  await daemon.waitState(job, 'SUCCEEDED', 60_000);
  const page = await open(`/jobs/${job}/checkpoints`);
  await page.getByRole('button', { name: 'Verify all' }).click();
  const rows = page.locator('tbody tr');
  await poll(async () => (await rows.count()) > 0 && (await page.getByText('✓ as saved').count()) === (await rows.count()), 'every checkpoint verifies');
  for (const ending of ['safetensors', 'pt']) {
    const [download] = await Promise.all([page.waitForEvent('download'), rows.first().getByRole('button', { name: `.${ending}` }).click()]);
    assert.match(download.suggestedFilename(), new RegExp(`\\.${ending}$`));
    const bytes = readFileSync(await download.path());
    const file = path.join(daemon.folder, `exported.${ending}`);
    await daemon.ctl('checkpoints', 'export', `${job}@last`, '-o', file);
    assert.ok(bytes.equals(readFileSync(file)), `${ending}: ${bytes.length} bytes`);
    if (ending === 'pt') continue;
    // The header is JSON, and the tensors fill the rest of the file.
    const length = Number(bytes.readBigUInt64LE(0));
    const { __metadata__: _, ...tensors } = JSON.parse(bytes.subarray(8, 8 + length).toString());
    const ends = Object.values(tensors).map((t) => t.data_offsets[1]);
    assert.equal(8 + length + Math.max(...ends), bytes.length);
  }
});

test('less motion: live points come once a second', async () => {
  const job = await daemon.trainable('--epochs', 100000, '--batch-size', 64, '--name', 'calm');
  const other = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await openPage(other, daemon, `/jobs/${job}`);
  const card = await chart(page, 'loss');
  await poll(async () => (await drawn(card)).length > 0, 'points are drawn');
  const changes = await card.locator('.plot').evaluate(async (host) => {
    let [count, seen] = [0, host.plot.data];
    for (const end = performance.now() + 3000; performance.now() < end; ) {
      await new Promise(requestAnimationFrame);
      if (host.plot.data !== seen) ++count;
      seen = host.plot.data;
    }
    return count;
  });
  // A new answer of the daemon may come between: that is a drawing, too.
  assert.ok(changes >= 1 && changes <= 6, `${changes} drawings in three seconds`);
  await other.close();
  await daemon.ctl('cancel', job);
});

test('no serious fault for assistive tools in tables and system charts', async () => {
  const job = await importJob(daemon, 'read aloud', [
    Buffer.concat([column('loss', [[1, 1], [2, 0.5]]), column('rank/0/cpu_percent', [[1, 50]]), histogram('grad/w', 1, 0, 1, [1, 1]), textAt('samples', 1, 'a')]),
  ]);
  for (const colorScheme of ['light', 'dark']) {
    const other = await browser.newContext({ colorScheme, bypassCSP: true });
    for (const place of [`/jobs/${job}`, `/jobs/${job}/system`, `/jobs/${job}/histograms`, `/jobs/${job}/texts`, `/compare?ids=${job}`]) {
      const page = await openPage(other, daemon, place);
      await page.locator('h1').waitFor();
      if (!place.endsWith('texts')) await page.getByRole('button', { name: 'as a table' }).first().click();
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
      assert.deepEqual(serious.map((v) => `${place} ${colorScheme} ${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`), []);
      await page.close();
    }
    await other.close();
  }
});
