// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.console.CommandException;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.session.Kept;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/** Models that stay loaded, and measurements of them. */
class LifeTest {
  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private final Models models = new Models(networks);
  private final Map<String, Device> services = new HashMap<>();
  private Terminal terminal;

  @BeforeEach
  void open() throws Exception {
    terminal =
        new Terminal(
            folder,
            new ModelsCommand(models, Kept.in(folder)),
            new RunCommand(models),
            new InfoCommand(models),
            new PlanCommand(networks, models, new FakeDryRuns()),
            new BenchCommand(context(), networks, models, new FakeCache()),
            new BurstCommand(networks, models));
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int in = builder.input("in", type, Shape.of(1, 4), Quantization.NONE);
    int out = builder.output("out", type, Shape.of(1, 3), Quantization.NONE);
    builder.operation(OperationCode.RELU, List.of(in), List.of(out));
    networks.files.put("model.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    Files.createDirectory(folder.resolve("digits"));
    Files.writeString(folder.resolve("digits/model.tflite"), "model");
    networks.outputs.put(0, new byte[12]);
    networks.outputShapes.put(0, Shape.of(1, 3));
  }

  @AfterEach
  void nothingStaysOpen() throws InterruptedException {
    terminal.close();
    models.close();
    assertEquals(0, networks.open.get());
    // An executor has terminated a moment before the last of its threads has.
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("nn-")) {
        thread.join(10_000);
        assertFalse(thread.isAlive(), thread.getName());
      }
    }
  }

  @Test
  void aLoadedModelIsUsedByNameAndCompiledOnce() throws Exception {
    assertEquals("no model is loaded; nn:load FILE loads one", terminal.type("nn:models"));
    String loaded = terminal.type("nn:load digits/model.tflite");
    assertTrue(loaded.contains("digits  Test format           1  nothing yet"), loaded);
    terminal.type("nn:run digits random:1");
    terminal.type("nn:run digits random:1");
    assertEquals(1, networks.compiled.size());
    terminal.type("nn:run digits random:1 --device cpu");
    assertEquals(2, networks.compiled.size());
    assertTrue(terminal.type("nn:models").contains("  cpu 1         "));
    assertTrue(terminal.type("nn:info digits").contains("Test format"));
    String json = terminal.type("nn:models --json");
    assertTrue(json.contains("\"compilations\":[{\"cpu\":1},{\"cpu\":1}]"), json);
    terminal.type("nn:unload digits");
    assertEquals(0, networks.open.get());
  }

  @Test
  void namesAreUniqueAndErrorsSayWhatThereIs() throws Exception {
    terminal.type("nn:load digits/model.tflite --name a");
    assertFails(
        "a model called a is loaded already; choose another --name, or nn:unload it",
        "nn:load digits/model.tflite --name a");
    assertFails("no model file and no loaded model is called b; loaded are a", "nn:run b random:1");
    assertFails("no loaded model is called b; loaded are a", "nn:unload b");
    terminal.type("nn:unload a");
    assertFails("no loaded model is called a; none is loaded", "nn:unload a");
    assertThrows(
        CommandException.class, () -> terminal.type("nn:load digits/model.tflite --name x/y"));
  }

  @Test
  void anUnloadedModelStaysOpenWhileItIsUsed() throws Exception {
    terminal.type("nn:load digits/model.tflite");
    try (OpenModel use = models.open("digits", folder)) {
      terminal.type("nn:unload digits");
      assertEquals(1, networks.open.get());
      use.loaded();
    }
    assertEquals(0, networks.open.get());
  }

  @Test
  void namesComeFromFileOrFolder() {
    assertEquals("digits", ModelsCommand.name(Path.of("/x/digits/model.tflite")));
    assertEquals("resnet.v2", ModelsCommand.name(Path.of("/x/resnet.v2.tflite")));
    assertEquals("plain", ModelsCommand.name(Path.of("plain")));
  }

  @Test
  void benchMeasuresAndCompares() throws Exception {
    networks.devices =
        List.of(
            FakeNetworks.device("simd", 1, DeviceDescription.State.AVAILABLE, ""),
            FakeNetworks.device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
    String json = terminal.type("nn:bench digits/model.tflite --seconds 0.1 --threads 2 --json");
    for (String field :
        List.of(
            "model",
            "device",
            "threads",
            "medianMillis",
            "p90Millis",
            "p99Millis",
            "throughput",
            "coldCompileMillis",
            "warmCompileMillis",
            "argumentsInBytes",
            "argumentsOutBytes",
            "deviceInBytes",
            "deviceOutBytes",
            "temporariesBytes")) {
      assertTrue(json.contains("\"" + field + "\":"), field + " in " + json);
    }
    assertTrue(json.matches(".*\"device\":\"cpu\",\"cold\":(true|false),\"threads\":2,.*"), json);
    String text =
        terminal.type("nn:bench digits/model.tflite random:5 --seconds 0.1 --device simd --vs cpu");
    // How many executions fit into a short warm-up depends on the machine.
    List<String> lines = text.lines().filter(line -> !line.contains(": cold, ")).toList();
    assertTrue(lines.get(1).startsWith("simd "), text);
    assertTrue(lines.get(2).startsWith("cpu "), text);
    assertEquals("simd: an execution copies nothing", lines.get(3));
    assertEquals("cpu: an execution copies nothing", lines.get(4));
    assertTrue(lines.get(6).matches("simd is .* times as (fast|slow) as cpu by median"), text);
  }

  @Test
  void burstKeepsItsRateAndSaysWhatWasNotSent() throws Exception {
    String text = terminal.type("nn:burst digits/model.tflite --seconds 0.2 --rate 100");
    List<String> lines = text.lines().toList();
    assertTrue(
        lines.getFirst().matches("cpu: \\S+ per second of 100 wanted, [12]\\d executions in .*"),
        text);
    assertEquals(12, lines.stream().filter(line -> line.contains(" to ")).count(), text);
    assertTrue(text.contains("█"), text);
    assertTrue(text.contains("\np50 "), text);
    assertTrue(text.contains("requests sent by burst, synchronously instead:"), text);
    assertTrue(text.endsWith("  1: the first is odd"), text);
    assertEquals(0, networks.open.get());
    networks.failure = ExecutionReport.failed(ResultCode.OP_FAILED, "no more");
    assertFails("OP_FAILED: no more", "nn:burst digits/model.tflite --seconds 0.1");
    assertEquals(0, networks.open.get());
  }

  /** A context with the devices, whose references have their names as every property. */
  private BundleContext context() {
    return proxy(
        BundleContext.class,
        (_, method, arguments) ->
            switch (method.getName()) {
              case "getServiceReferences" ->
                  services.keySet().stream()
                      .map(id -> proxy(ServiceReference.class, (_, _, _) -> id))
                      .toList();
              case "getService" ->
                  services.get(((ServiceReference<?>) arguments[0]).getProperty("the name"));
              default -> true;
            });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(LifeTest.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** A device that takes every model of one operation, and computes nothing. */
  private static Device device(Callable<Optional<ExecutionProfile>> profile) {
    PreparedModel prepared =
        proxy(
            PreparedModel.class,
            (_, method, _) -> method.getName().equals("profile") ? profile.call() : null);
    return proxy(
        Device.class,
        (_, method, _) ->
            method.getName().equals("prepare") ? prepared : BitSet.valueOf(new long[] {1}));
  }

  @Test
  void aProfileBeginsWithTheDeviceOfThePlan() throws Exception {
    networks.devices =
        List.of(
            FakeNetworks.device("simd", 1, DeviceDescription.State.AVAILABLE, ""),
            FakeNetworks.device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
    assertFails(
        "no device can be profiled: cpu is not here; simd is not here",
        "nn:bench digits/model.tflite --profile");
    services.put("cpu", device(Optional::empty));
    services.put(
        "simd",
        device(
            () -> {
              throw DeviceException.failure("it was unplugged");
            }));
    assertFails(
        "no device can be profiled: cpu does not tell how long operations take; simd: it was"
            + " unplugged",
        "nn:bench digits/model.tflite --profile");
  }

  @Test
  void benchSaysWhatAnExecutionCopies() throws Exception {
    networks.copied = new ExecutionReport.CopiedBytes(1, 2, 30, 0, 5);
    String text = terminal.type("nn:bench digits/model.tflite --seconds 0.05");
    assertTrue(
        text.contains(
            "cpu: an execution copies 1 B arguments in, 2 B arguments out, 30 B into the device,"
                + " 5 B between steps"),
        text);
    String json = terminal.type("nn:bench digits/model.tflite --seconds 0.05 --json");
    assertTrue(
        json.contains(
            "\"argumentsInBytes\":1,\"argumentsOutBytes\":2,\"deviceInBytes\":30,"
                + "\"deviceOutBytes\":0,\"temporariesBytes\":5"),
        json);
  }

  @Test
  void aFailingExecutionEndsTheMeasurement() {
    networks.failure = ExecutionReport.failed(ResultCode.OP_FAILED, "no more");
    assertFails("OP_FAILED: no more", "nn:bench digits/model.tflite --seconds 0.1 --threads 3");
  }

  @Test
  void picturesOfGraphsAreWritten() throws Exception {
    terminal.type("nn:info digits/model.tflite --svg info.svg");
    terminal.type("nn:plan digits/model.tflite --svg plan.svg");
    for (String name : List.of("info.svg", "plan.svg")) {
      assertTrue(Files.readString(folder.resolve(name)).startsWith("<svg "), name);
    }
    assertFalse(Files.exists(folder.resolve("no")));
    assertFails(
        "cannot write " + folder.resolve("no/x.svg") + ": its directory does not exist",
        "nn:info digits/model.tflite --svg no/x.svg");
  }

  private void assertFails(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }
}
