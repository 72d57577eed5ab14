// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Short versions of the long proofs. */
@Order(Integer.MAX_VALUE) // the thread that hands out classes takes them from the end
class ProofsTest {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));

  /** Those that must not be refused; others may pass too. */
  private static final List<String> MODELS =
      List.of(
          "ad01_autoencoder_float",
          "ad01_autoencoder_int8",
          "deeplabv3_257_float",
          "dtln_1_tflite",
          "kws_dscnn_float",
          "kws_dscnn_int8",
          "kwt1",
          "mediapipe_face_front",
          "mnist_lstm_float",
          "mnist_lstm_int8",
          "mobilenet_v1_025_224_float",
          "mobilenet_v2_100_224_uint8",
          "resnet8_cifar_float",
          "resnet8_cifar_int8",
          "ssd_mobilenet_v1_coco_uint8");

  private static final List<String> FAST =
      List.of(
          "ad01_autoencoder_int8",
          "kws_dscnn_float",
          "kws_dscnn_int8",
          "mnist_lstm_int8",
          "mobilenet_v2_100_224_uint8",
          "resnet8_cifar_float",
          "resnet8_cifar_int8");

  private static List<String> run(String proof, List<String> without, String... options)
      throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    Figures figures = new Figures(lines::add);
    try (Host host = Host.start(ROOT, without)) {
      host.call(proof, List.of(options), figures);
    }
    assertEquals(0, figures.broken(), lines::toString);
    return lines;
  }

  /** Runs a proof that counts what a process holds, in one without other tests. */
  private static List<String> runAlone(String proof, String... options) throws Exception {
    List<String> command =
        new ArrayList<>(List.of(ROOT.resolve("integration-tests/run").toString(), proof));
    command.addAll(List.of(options));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    List<String> lines = process.inputReader().lines().toList();
    assertEquals(0, process.waitFor(), lines::toString);
    return lines;
  }

  @Test
  void publicModelsGiveTheStoredOutputs() throws Exception {
    assumeTrue(ConformanceData.models().isPresent(), "there is no ../shared/models");
    String required = String.join(",", MODELS);
    List<String> lines = run("models", List.of(), "--required", required, "--device", "cpu");
    lines.stream().filter(line -> line.matches("(models|cases|refused).*")).forEach(this::tell);
    assertTrue(lines.contains("modelsFailed = 0"), lines::toString);
  }

  @Test
  void killedProcessesCostNoRequest() throws Exception {
    runAlone(
        "isolation",
        "--kills",
        "2",
        "--crashes",
        "1",
        "--models",
        "kws_dscnn_int8",
        "--timed",
        "0");
  }

  @Test
  void quantizedOutputsAreTheSameOnAllDevices() throws Exception {
    assumeTrue(ConformanceData.models().isPresent(), "there is no ../shared/models");
    String some = String.join(",", FAST);
    List<String> lines =
        run("models", List.of(), "--models", some, "--required", some, "--equal-to", "cpu");
    lines.stream().filter(line -> line.matches("(equal|models).*")).forEach(this::tell);
    assertTrue(lines.contains("equalQuantizedOutputs = 21"), lines::toString);
  }

  @Test
  void policiesAreCompared() throws Exception {
    assumeTrue(ConformanceData.models().isPresent(), "there is no ../shared/models");
    // Only that it runs: how fast it is, a loaded machine cannot tell.
    List<String> lines =
        run(
            "policies",
            List.of(),
            "--models",
            "mnist_lstm_int8,resnet8_cifar_int8",
            "--measure",
            "300",
            "--settled",
            "100",
            "--millis",
            "100",
            "--noise",
            "100000");
    assertTrue(lines.contains("models = 2"), lines::toString);
  }

  @Test
  void processesShareACache() throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    Figures figures = new Figures(lines::add);
    new SharedCache().run(new Settings(List.of("--rounds", "3")), figures);
    lines.forEach(this::tell);
    assertEquals(0, figures.broken(), lines::toString);
  }

  @Test
  void messagesComeOnceAndWhole() throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    Figures figures = new Figures(lines::add);
    new Queues().run(new Settings(List.of("--spin", "2000000", "--sleep", "50000")), figures);
    lines.forEach(this::tell);
    assertEquals(0, figures.broken(), lines::toString);
  }

  private void tell(String line) {
    System.out.println("proof: " + line);
  }

  @Test
  void aDeviceComesAndGoesUnderLoad() throws Exception {
    List<String> lines =
        runAlone(
            "hotplug",
            "--cycles",
            "3",
            "--requests",
            "100",
            "--serve",
            "200",
            "--absent",
            "100",
            "--timed",
            "0");
    lines.stream()
        .filter(line -> line.matches("(requests|failed|wrong|on|lo).*"))
        .forEach(this::tell);
  }

  @Test
  void wrongAnswersAreFoundBySampling() throws Exception {
    List<String> lines =
        run("wrong-answers", List.of(), "--requests", "60", "--sampling", "0.1,1", "--rate", "0.2");
    lines.stream().filter(line -> line.startsWith("sampling")).forEach(this::tell);
    assertTrue(lines.contains("sampling100Percent.reachedTheApplication = 0"), lines::toString);
  }

  @Test
  void aSteadyLoadOutlivesItsDevices() throws Exception {
    List<String> lines =
        runAlone(
            "chaos",
            "--devices",
            "simd",
            "--cycles",
            "2",
            "--warm-up",
            "1",
            "--requests",
            "60",
            "--serve",
            "400",
            "--timed",
            "0");
    lines.stream()
        .filter(line -> line.matches("(requests|failed|wrong|on|replayed|loaders|native).*"))
        .forEach(this::tell);
  }

  @Test
  void stateOnADeviceIsRightOrSaidToBeDead() throws Exception {
    List<String> lines =
        runAlone(
            "memory",
            "--executions",
            "60",
            "--updates",
            "2",
            "--faults",
            "12",
            "--requests",
            "2000");
    lines.stream().filter(line -> line.matches("(updated|faults).*")).forEach(this::tell);
  }

  @Test
  void noFrameOfABurstIsLostWhileItsDeviceIsUpdated() throws Exception {
    List<String> lines = runAlone("bursts", "--frames", "300", "--updates", "2");
    lines.stream()
        .filter(line -> line.matches("(frames|sent|read|fallbacks|share).*"))
        .forEach(this::tell);
  }

  @Test
  void prioritiesLoseNothing() throws Exception {
    List<String> lines =
        run(
            "priorities",
            List.of("npu"),
            "--low",
            "resnet8_cifar_int8",
            "--windows",
            "1",
            "--millis",
            "500",
            "--timed",
            "0");
    lines.stream().filter(line -> line.matches("(high|low|fair).*")).forEach(this::tell);
  }

  @Test
  void theAcceleratorPutsLowPriorityAside() throws Exception {
    List<String> lines = new CopyOnWriteArrayList<>();
    Figures figures = new Figures(lines::add);
    List<String> settings = List.of("--windows", "1", "--samples", "20", "--timed", "0");
    new NpuPreemption().run(new Settings(settings), figures);
    lines.forEach(this::tell);
    assertEquals(0, figures.broken(), lines::toString);
  }

  @Test
  void whoeverIsRefusedIsServedLater() throws Exception {
    List<String> lines = runAlone("admission", "--submissions", "24000", "--wave", "12000");
    lines.stream()
        .filter(line -> line.matches("(capacity|offered|served|returns|mostOpen|held).*"))
        .forEach(this::tell);
  }

  @Test
  void whatIsCancelledOrClosedIsAnsweredAndLeavesNothing() throws Exception {
    List<String> lines = runAlone("endings", "--endings", "200");
    lines.stream()
        .filter(line -> line.matches("(seed|endings|executions|held).*"))
        .forEach(this::tell);
  }

  @Test
  void unknownOptionsAreWrongUsage() throws Exception {
    try (Host host = Host.start(ROOT, List.of())) {
      for (List<String> wrong : List.of(List.of("--no-such", "x"), List.of("--dir"))) {
        assertThrows(
            Settings.UnknownOptionException.class,
            () -> host.call("models", wrong, new Figures(line -> {})));
      }
    }
  }
}
