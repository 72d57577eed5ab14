// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.integration.run.Caller.Outcome;
import io.thalamus.integration.run.Caller.Question;
import io.thalamus.integration.run.Caller.Reply;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * The page and the figures of a server as their readers see them: a browser while requests come and
 * a device is installed and removed, and Prometheus' checker. What is not installed is skipped.
 */
final class ServedPage implements Proof {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Path PROMTOOL = Path.of("/usr/bin/promtool");

  @Override
  public String name() {
    return "page";
  }

  @Override
  public String purpose() {
    return "the page of a server in Chromium while requests come and a device goes, and its figures"
        + " (--requests 500 --picture FILE)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int requests = Math.toIntExact(settings.number("requests", 500));
    Optional<String> picture = Optional.of(settings.text("picture", "")).filter(f -> !f.isEmpty());
    settings.end();
    Path home = Path.of(System.getProperty("thalamus.home"));
    Path folder = Files.createTempDirectory("thalamus-page");
    try {
      Path models = Files.createDirectories(folder.resolve("models"));
      Files.copy(home.resolve("samples/digits/digits.tflite"), models.resolve("digits.tflite"));
      try (RunningServer server =
          RunningServer.start(
              "cpu,simd", folder, models, "--grace", "0", "--set", "dashboard.periodMillis=200")) {
        Optional<Browser> browser = Browser.start();
        if (browser.isPresent()) {
          try (Browser open = browser.get();
              Caller stream = server.caller("stream")) {
            look(open, server, folder, home, requests, figures);
            ask(stream, requests);
            await(open, "bursts", ">" + requests + "<", true);
            if (picture.isPresent()) {
              open.picture(Path.of(picture.get()));
            }
          }
        } else {
          figures.figure(
              "browser", "skipped, since chromium and chromium-driver are not installed");
          send(server, requests);
        }
        count(server, browser.isPresent() ? 2 * requests : requests, figures);
        figures.promise("the server ends with 0", server.end(() -> {}) == 0);
      }
    } finally {
      RunningServer.delete(folder);
    }
  }

  private static void send(RunningServer server, int requests) throws Exception {
    try (Caller caller = server.caller("rest")) {
      ask(caller, requests);
    }
  }

  private static void ask(Caller caller, int requests) throws Exception {
    Question question = Question.ofDigits(new byte[MutatedRequests.INPUT_BYTES]);
    for (int i = 0; i < requests; i++) {
      Reply reply = caller.ask(question);
      if (reply.outcome() != Outcome.ANSWERED) {
        throw new IOException(reply.outcome() + ": " + reply.why());
      }
    }
  }

  private static void look(
      Browser browser, RunningServer server, Path folder, Path home, int requests, Figures figures)
      throws Exception {
    String own = "http://" + server.address() + "/";
    browser.open(own);
    await(browser, "devices", "<b>cpu</b>", true);
    figures.promise("the model is shown", browser.part("models").contains("digits"));
    String before = browser.part("latency");
    send(server, requests);
    // The figure of the table, which says that all have come.
    await(browser, "models", ">" + requests + "<", true);
    figures.promise("the histogram moves", !browser.part("latency").equals(before));
    await(browser, "timeline", "<svg", true);
    await(browser, "executions", "<svg", true);
    Path deployed = folder.resolve("storage/deploy/npu.jar");
    Path aside = Files.copy(home.resolve("devices/io.thalamus.npu.jar"), folder.resolve("npu.jar"));
    Files.move(aside, deployed, StandardCopyOption.ATOMIC_MOVE);
    await(browser, "devices", "<b>npu</b>", true);
    Files.delete(deployed);
    await(browser, "devices", "<b>npu</b>", false);
    figures.figure("deviceCameAndWent", "npu");
    Set<String> asked = browser.asked();
    figures.figure("addressesAsked", asked.size());
    figures.promise("the browser asked something", !asked.isEmpty());
    figures.promise(
        "no request leaves the host", asked.stream().allMatch(each -> each.startsWith(own)));
  }

  /** Waits until a part of the page has a text, or has it no more. */
  private static void await(Browser browser, String part, String text, boolean isWanted)
      throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (browser.part(part).contains(text) != isWanted) {
      if (System.nanoTime() - end > 0) {
        throw new IOException(
            part
                + (isWanted ? " never shows " : " still shows ")
                + text
                + ": "
                + browser.part(part));
      }
      Thread.sleep(100);
    }
  }

  private static void count(RunningServer server, int requests, Figures figures) throws Exception {
    String text = server.get("/metrics");
    String series = "thalamus_requests_total{model=\"digits\",outcome=\"success\",version=\"1\"} ";
    double counted =
        text.lines()
            .filter(line -> line.startsWith(series))
            .mapToDouble(line -> Double.parseDouble(line.substring(series.length())))
            .sum();
    figures.figure("requests", requests);
    figures.figure("counted", Math.round(counted));
    figures.promise("Prometheus counts what was sent", counted == requests);
    if (!Files.isExecutable(PROMTOOL)) {
      figures.figure("promtool", "skipped, since prometheus is not installed");
      return;
    }
    Process promtool =
        new ProcessBuilder(PROMTOOL.toString(), "check", "metrics")
            .redirectErrorStream(true)
            .start();
    promtool.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
    promtool.getOutputStream().close();
    String said = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    figures.figure("promtool", said.isBlank() ? "silent" : said.strip());
    figures.promise("promtool has nothing to say", said.isBlank() && promtool.waitFor() == 0);
  }
}
