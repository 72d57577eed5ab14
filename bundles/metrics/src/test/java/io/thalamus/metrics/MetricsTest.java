// SPDX-License-Identifier: Apache-2.0
package io.thalamus.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.api.BurstInfo;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.ResultCode;
import io.thalamus.http.HttpServer;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Timing;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.ModelStatistics.Total;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.ServingListener.EndedRequest;
import java.lang.foreign.Arena;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The figures as a scraper reads them. */
class MetricsTest {
  private static final String OPEN_METRICS = "application/openmetrics-text;version=1.0.0";
  private static final int THREADS = 4;
  private static final int REQUESTS = 5_000;

  private final RequestMetrics requests = new RequestMetrics();
  private Optional<InferenceServer> server = Optional.of(server());
  private Optional<CompilationCache> cache =
      Optional.of(
          proxy(
              CompilationCache.class,
              (proxy, method, given) -> List.of(new CompilationCache.Looks("cpu", 5, 6, 7, 8))));
  private final Exposition exposition =
      new Exposition(
          requests,
          new StateMetrics(
              proxy(NeuralNetworks.class, (proxy, method, given) -> devices()),
              () -> server,
              () -> cache,
              () ->
                  Optional.of(proxy(HttpServer.class, (proxy, method, given) -> Map.of(413, 2L)))));

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(MetricsTest.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private static List<DeviceDescription> devices() {
    PerformanceInfo cost = new PerformanceInfo(1, 1);
    DeviceInfo info =
        DeviceInfo.builder("d", "1")
            .capabilities(new Capabilities(cost, cost, Map.of(), cost, cost))
            .build();
    DeviceHealth bad =
        new DeviceHealth(7, 2, Optional.empty(), 0, 0, List.of(), Optional.of("it failed"));
    return List.of(
        new DeviceDescription("npu", info, State.QUARANTINED, "it failed", bad),
        new DeviceDescription("cpu", info, State.AVAILABLE, "", DeviceHealth.GOOD),
        new DeviceDescription("npu", info, State.LEAKED, "it has left", bad));
  }

  private static InferenceServer server() {
    Total none = new Total(0, 0);
    return proxy(
        InferenceServer.class,
        (proxy, method, given) ->
            switch (method.getName()) {
              case "isReady" -> false;
              case "bursts" ->
                  List.of(new OpenBurst("a", "1", new BurstInfo(1, 0, 0, 0, Map.of())));
              case "index" ->
                  List.of(
                      new IndexEntry("a", "1", ModelState.READY, "", "d"),
                      new IndexEntry("a", "2", ModelState.UNAVAILABLE, "damaged", "e"));
              case "statistics" ->
                  List.of(
                      new ModelStatistics(
                          "a", "1", 0, 0, 0, 3, none, none, none, none, none, none, none));
              // It is replaced between the index and this.
              case "compilation" -> throw new ServingException(Failure.UNAVAILABLE, "replaced");
              default -> throw new UnsupportedOperationException(method.getName());
            });
  }

  private String text(String accept) {
    return new String(
        exposition.write(Optional.ofNullable(accept)).bytes(), StandardCharsets.UTF_8);
  }

  @Test
  void refusalsOfTheHttpServerAreCounted() {
    assertEquals(2, value(text(null), "thalamus_http_refused_total{status=\"413\"}"));
  }

  /** Returns the value of a series; 0 if it is not there, as before the first of a kind. */
  private static double value(String text, String series) {
    return text.lines()
        .filter(line -> line.startsWith(series + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(series.length() + 1)))
        .findFirst()
        .orElse(0);
  }

  private static EndedRequest ended(
      String model, String version, Optional<Failure> failure, int attempts, long nanos) {
    InferenceRequest request =
        InferenceRequest.of(
            model, List.of(), (output, bytes) -> Arena.ofAuto().allocate(bytes, 64));
    List<StepReport> steps = new ArrayList<>();
    for (int i = 1; i < attempts; i++) {
      steps.add(new StepReport("npu", 1, Duration.ZERO, ResultCode.DEAD_OBJECT));
    }
    if (attempts > 0) {
      steps.add(new StepReport("cpu", 1, Duration.ZERO, ResultCode.NO_ERROR));
    }
    return new EndedRequest(
        request,
        version,
        failure,
        "",
        Optional.of(new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, steps)),
        attempts,
        new RequestTimes(nanos, nanos / 2, 0, nanos / 4, 0));
  }

  @Test
  void countsAreThoseOfTheRequests() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed = " + seed);
    List<Map<String, Integer>> expected = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      Map<String, Integer> own = new TreeMap<>();
      expected.add(own);
      Random random = new Random(seed + t);
      threads.add(Thread.ofPlatform().start(() -> send(random, own)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    Map<String, Integer> all = new TreeMap<>();
    expected.forEach(each -> each.forEach((key, count) -> all.merge(key, count, Integer::sum)));
    for (String accept : List.of("text/plain", OPEN_METRICS)) {
      String text = text(accept);
      all.forEach(
          (series, count) -> assertEquals(count.doubleValue(), value(text, series), series));
      long outcomes =
          text.lines().filter(line -> line.startsWith("thalamus_requests_total")).count();
      assertEquals(
          all.keySet().stream().filter(each -> each.startsWith("thalamus_requests_total")).count(),
          outcomes);
    }
  }

  private void send(Random random, Map<String, Integer> expected) {
    for (int i = 0; i < REQUESTS; i++) {
      String labels = "{model=\"m" + random.nextInt(3) + "\",version=\"" + random.nextInt(2) + "\"";
      String[] parts = labels.split("\"");
      Optional<Failure> failure =
          random.nextInt(3) == 0
              ? Optional.of(Failure.values()[random.nextInt(Failure.values().length)])
              : Optional.empty();
      int attempts = 1 + random.nextInt(3);
      requests.ended(ended(parts[1], parts[3], failure, attempts, random.nextLong(1L << 35)));
      String outcome = failure.map(each -> each.name().toLowerCase(Locale.ROOT)).orElse("success");
      add(
          expected,
          "requests_total"
              + labels.replace(",version", ",outcome=\"" + outcome + "\",version")
              + "}",
          1);
      add(expected, "executions_repeated_total" + labels + "}", attempts - 1);
      add(
          expected,
          "deadlines_missed_total" + labels + "}",
          failure.equals(Optional.of(Failure.DEADLINE_EXCEEDED)) ? 1 : 0);
      for (String histogram : List.of("", "queue_", "compute_")) {
        String name = "request_" + histogram + "duration_seconds_";
        add(expected, name + "count" + labels + "}", failure.isEmpty() ? 1 : 0);
        add(expected, name + "bucket" + labels + ",le=\"+Inf\"}", failure.isEmpty() ? 1 : 0);
      }
      add(expected, "steps_total{device=\"cpu\"}", 1);
      add(expected, "steps_failed_total{device=\"npu\"}", attempts - 1);
    }
  }

  private static void add(Map<String, Integer> expected, String series, int count) {
    expected.merge("thalamus_" + series, count, Integer::sum);
  }

  @Test
  void namesThatClientsMadeUpAreNoLabels() {
    requests.ended(ended("made up", "", Optional.of(Failure.NOT_FOUND), 0, 1));
    String text = text("text/plain");
    assertFalse(text.contains("made up"), text);
    assertEquals(
        1,
        value(text, "thalamus_requests_total{model=\"\",outcome=\"not_found\",version=\"\"}"),
        text);
  }

  @Test
  void statesAreThoseOfTheMoment() {
    String text = text("text/plain");
    Map<String, Double> expected =
        Map.of(
            "server_ready", 0.0,
            "bursts_open", 1.0,
            "model_ready{model=\"a\",version=\"1\"}", 1.0,
            "model_ready{model=\"a\",version=\"2\"}", 0.0,
            "requests_pending{model=\"a\",version=\"1\"}", 3.0,
            "device_available{device=\"cpu\"}", 1.0,
            "device_failures_total{device=\"npu\"}", 7.0,
            "cache_looks_total{device=\"cpu\",outcome=\"miss\"}", 6.0);
    expected.forEach(
        (series, value) -> {
          assertTrue(text.contains("thalamus_" + series + " "), series + " in " + text);
          assertEquals(value, value(text, "thalamus_" + series), series);
        });
    server = Optional.empty();
    cache = Optional.empty();
    assertFalse(text("text/plain").contains("model=\"a\""));
    assertFalse(text("text/plain").contains("outcome"));
  }

  @Test
  void theFormatIsTheOneThatIsAskedFor() {
    assertTrue(
        exposition.write(Optional.of(OPEN_METRICS)).contentType().startsWith("application/openm"));
    assertTrue(text(OPEN_METRICS).endsWith("# EOF\n"));
    assertTrue(exposition.write(Optional.empty()).contentType().startsWith("text/plain"));
  }

  @Test
  void promtoolFindsNothingToSay() throws Exception {
    Optional<Path> promtool =
        List.of("/usr/bin/promtool", "/usr/local/bin/promtool").stream()
            .map(Path::of)
            .filter(Files::isExecutable)
            .findFirst();
    assumeTrue(promtool.isPresent(), "promtool is not installed: apt-get install prometheus");
    requests.ended(ended("m", "1", Optional.empty(), 2, 1_000_000));
    requests.ended(ended("", "", Optional.of(Failure.NOT_FOUND), 0, 1_000_000));
    Process process =
        new ProcessBuilder(promtool.get().toString(), "check", "metrics")
            .redirectErrorStream(true)
            .start();
    process.getOutputStream().write(text("text/plain").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals("", said);
    assertEquals(0, process.waitFor());
  }
}
