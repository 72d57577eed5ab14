// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.BurstInfo;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Timing;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.ServingListener.EndedRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.lang.foreign.Arena;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;

/** The parts of the page, and the figures in them. */
class DashboardTest {
  private static final String EVIL = "<script>alert('&\"')</script>";

  private final AtomicLong now = new AtomicLong(TimeUnit.SECONDS.toNanos(1_000));
  private final Activity activity = new Activity(now::get);
  private List<DeviceDescription> devices = List.of(device("cpu"), device("npu"));

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            DashboardTest.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private static DeviceDescription device(String id) {
    PerformanceInfo cost = new PerformanceInfo(1, 1);
    DeviceInfo info =
        DeviceInfo.builder(id + "-device", "1")
            .capabilities(new Capabilities(cost, cost, Map.of(), cost, cost))
            .build();
    return new DeviceDescription(id, info, State.AVAILABLE, "", DeviceHealth.GOOD);
  }

  private View view() {
    InferenceServer server =
        proxy(
            InferenceServer.class,
            (proxy, method, given) ->
                switch (method.getName()) {
                  case "isReady" -> true;
                  case "statistics" -> List.of();
                  case "bursts" ->
                      List.of(
                          new OpenBurst(EVIL, "2", new BurstInfo(1, 91, 88, 88, Map.of("no", 3L))));
                  case "index" ->
                      List.of(
                          new IndexEntry("good", "1", ModelState.READY, "", "d"),
                          new IndexEntry(EVIL, "2", ModelState.UNAVAILABLE, EVIL, ""));
                  // It is replaced between the index and this.
                  case "compilation" -> throw new ServingException(Failure.UNAVAILABLE, "gone");
                  default -> throw new UnsupportedOperationException(method.getName());
                });
    NeuralNetworks networks = proxy(NeuralNetworks.class, (proxy, method, given) -> devices);
    return new View(networks, () -> Optional.of(server), activity);
  }

  private void end(String model, Optional<Failure> failure, long nanos, String... devices) {
    List<StepReport> steps =
        Arrays.stream(devices)
            .map(id -> new StepReport(id, 1, Duration.ofNanos(nanos), ResultCode.NO_ERROR))
            .toList();
    InferenceRequest request =
        InferenceRequest.of(
            model, List.of(), (output, bytes) -> Arena.ofAuto().allocate(bytes, 64));
    activity.ended(
        new EndedRequest(
            request,
            "1",
            failure,
            "",
            Optional.of(
                new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, steps)),
            1,
            new RequestTimes(nanos, 0, 0, nanos, 0)));
  }

  /** The script puts a part wherever the page has a place with its name. */
  @Test
  void eachPartHasItsPlaceOnThePage() throws IOException {
    try (InputStream page = View.class.getResourceAsStream("page.html")) {
      Set<String> places =
          Pattern.compile("<div id=\"(\\w+)\">")
              .matcher(new String(page.readAllBytes(), StandardCharsets.UTF_8))
              .results()
              .map(place -> place.group(1))
              .collect(Collectors.toSet());
      assertEquals(view().parts().keySet(), places);
    }
  }

  @Test
  void theLastMinuteIsCountedBySecond() {
    end("m", Optional.empty(), 1_000_000);
    now.addAndGet(TimeUnit.SECONDS.toNanos(59));
    end("m", Optional.empty(), 50_000_000);
    end("m", Optional.of(Failure.INTERNAL), 1);
    Activity.Minute minute = activity.minute();
    assertEquals(1, minute.answered()[0]);
    assertEquals(1, minute.answered()[59]);
    assertEquals(1, minute.failed()[59]);
    assertEquals(2, Arrays.stream(minute.classes()).sum());
    now.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertEquals(1, Arrays.stream(activity.minute().answered()).sum());
    now.addAndGet(TimeUnit.SECONDS.toNanos(600));
    assertEquals(0, Arrays.stream(activity.minute().classes()).sum());
  }

  @Test
  void quantilesAreWithinAClass() {
    for (int i = 1; i <= 100; i++) {
      end("m", Optional.empty(), i * 1_000_000L);
    }
    double median = activity.minute().quantileNanos(0.5);
    assertTrue(median >= 50e6 && median <= 50e6 * Math.pow(10, 1 / 8.0), "median " + median);
    for (long nanos : new long[] {0, 1, 9_999, 10_000, 123_456_789, Long.MAX_VALUE}) {
      int index = Activity.classOf(nanos);
      assertTrue(index >= 0 && index < Activity.CLASSES);
      assertTrue(nanos <= Activity.upperNanos(index) * 1.001 || index == Activity.CLASSES - 1);
    }
  }

  @Test
  void namesOfOthersAreTextAndEveryPartIsWhole() throws Exception {
    end(EVIL, Optional.empty(), 3_000_000, "cpu", "npu", EVIL);
    end("m", Optional.of(Failure.INTERNAL), 5_000_000, "cpu");
    for (Map.Entry<String, String> part : view().parts().entrySet()) {
      assertFalse(part.getValue().contains("<script"), part.getKey());
      String document = "<part>" + part.getValue() + "</part>";
      DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(new InputSource(new StringReader(document)));
    }
  }

  /** Returns the left ends and widths of the steps on a device's line. */
  private static List<double[]> bars(String timeline, int y) {
    return Pattern.compile("x=\"([0-9.]+)\" y=\"" + y + "\" width=\"([0-9.]+)\"")
        .matcher(timeline)
        .results()
        .map(
            each ->
                new double[] {Double.parseDouble(each.group(1)), Double.parseDouble(each.group(2))})
        .toList();
  }

  @Test
  void stepsAreDrawnInTimeOnTheLineOfTheirDevice() {
    end("first", Optional.empty(), 2_000_000, "cpu", "npu");
    now.addAndGet(6_000_000);
    end("second", Optional.empty(), 2_000_000, "npu");
    String timeline = view().parts().get("timeline");
    List<double[]> cpu = bars(timeline, 2);
    List<double[]> npu = bars(timeline, 22);
    assertEquals(1, cpu.size());
    assertEquals(2, npu.size(), "the newest is drawn first");
    double step = cpu.getFirst()[1];
    assertEquals(cpu.getFirst()[0] + step, npu.get(1)[0], 0.2, "npu goes on where cpu ends");
    assertEquals(npu.get(1)[0] + 3 * step, npu.getFirst()[0], 0.2, "4 ms behind that of 2 ms");
    assertTrue(timeline.contains("second 1 on npu: 2.0 ms"), timeline);
  }

  @Test
  void burstsAreShownWithWhatWentByThem() {
    String bursts = view().parts().get("bursts");
    assertTrue(
        bursts.contains(
            "<td>2</td><td class=\"n\">91</td><td class=\"n\">88</td><td class=\"n\">3</td>"),
        bursts);
  }

  @Test
  void aDeviceThatLeavesVanishesAndItsColourStays() {
    View view = view();
    String before = view.parts().get("devices");
    assertTrue(before.contains("<b>cpu</b>") && before.contains("<b>npu</b>"));
    devices = List.of(device("npu"));
    String after = view.parts().get("devices");
    assertFalse(after.contains("<b>cpu</b>"));
    assertTrue(after.contains("class=\"d1\""), after);
  }

  @Test
  void timesAreInTheUnitOfPeople() {
    assertEquals("–", View.time(0));
    assertEquals("250 µs", View.time(250e3));
    assertEquals("1.5 ms", View.time(1.5e6));
    assertEquals("150 ms", View.time(150e6));
    assertEquals("2.5 s", View.time(2.5e9));
  }
}
