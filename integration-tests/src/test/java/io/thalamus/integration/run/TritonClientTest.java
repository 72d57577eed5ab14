// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.vectors.ConformanceData;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The Java client of Triton, unmodified and in a process of its own, against the server. Every
 * answer of an 8-bit model is to equal that of a process without a server, on the device cpu.
 */
class TritonClientTest {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Path HOME = ROOT.resolve("launcher/target/thalamus");
  private static final Path CLIENT = ROOT.resolve("integration-tests/target/clients/triton.jar");
  private static final Path PROGRAM =
      ROOT.resolve("integration-tests/src/test/resources/serving/TritonClient.java");

  private static final Pattern TENSOR =
      Pattern.compile(
          "puts\":\\[\\{\"name\":\"([^\"]+)\",\"datatype\":\"(\\w+)\",\"shape\":\\[([^]]*)]");

  @TempDir Path folder;

  @Test
  void theSampleIsAnsweredBitForBit() throws Exception {
    Path sample = HOME.resolve("samples/digits/digits.tflite");
    byte[] input = new byte[28 * 28];
    for (int i = 0; i < input.length; i++) {
      input[i] = (byte) (i * 7);
    }
    compare(
        List.of("digits"), List.of(sample), List.of(Files.write(folder.resolve("in.bin"), input)));
  }

  @Test
  void storedModelsOfEightBitsAreAnsweredBitForBit() throws Exception {
    assumeTrue(ConformanceData.models().isPresent(), "there is no ../shared/models");
    Path models = ConformanceData.models().get();
    List<String> names =
        List.of("kws_dscnn_int8", "resnet8_cifar_int8", "mobilenet_v2_100_224_uint8");
    compare(
        names,
        names.stream().map(name -> models.resolve(name).resolve("model.tflite")).toList(),
        names.stream().map(name -> models.resolve(name).resolve("input_rand_0.bin")).toList());
  }

  private void compare(List<String> names, List<Path> files, List<Path> inputs) throws Exception {
    Path served = Files.createDirectories(folder.resolve("models"));
    for (int i = 0; i < names.size(); i++) {
      Files.copy(files.get(i), served.resolve(names.get(i) + ".tflite"));
    }
    computeReference(files, inputs);
    try (RunningServer server = RunningServer.start("cpu,simd", folder, served, "--grace", "0")) {
      List<String> words = new ArrayList<>(List.of(server.address()));
      for (int i = 0; i < names.size(); i++) {
        Matcher tensors = TENSOR.matcher(server.get("/v2/models/" + names.get(i)));
        assertTrue(tensors.find(), "an input");
        words.addAll(List.of(names.get(i), tensors.group(1), tensors.group(2), tensors.group(3)));
        assertTrue(tensors.find(), "an output");
        words.addAll(
            List.of(
                tensors.group(1),
                inputs.get(i).toString(),
                folder.resolve("answer" + i).toString()));
      }
      List<String> lines = client(words);
      int line = 0;
      for (int i = 0; i < names.size(); i++) {
        assertEquals(names.get(i) + " binary answered", lines.get(line++));
        assertEquals(names.get(i) + " JSON answered", lines.get(line++));
        assertArrayEquals(
            Files.readAllBytes(folder.resolve("reference" + i + ".bin")),
            Files.readAllBytes(folder.resolve("answer" + i)),
            names.get(i));
      }
      assertTrue(lines.get(line).startsWith("refused: "), lines::toString);
      assertTrue(lines.get(line++).contains("there is no model 'none'"), lines::toString);
      assertTrue(lines.get(line).startsWith("refused: "), lines::toString);
      assertTrue(lines.get(line).contains("the model has no input 'none'"), lines::toString);
      assertEquals(0, server.end(() -> {}));
    }
  }

  private void computeReference(List<Path> files, List<Path> inputs) throws Exception {
    StringBuilder commands = new StringBuilder();
    for (int i = 0; i < files.size(); i++) {
      commands.append(
          "nn:run %s %s --output %s\n"
              .formatted(files.get(i), inputs.get(i), folder.resolve("reference" + i + ".bin")));
    }
    run(
        HOME.resolve("bin/thalamus").toString(),
        "--storage",
        folder.resolve("reference").toString(),
        "--with",
        "cpu",
        "-c",
        commands.toString());
  }

  private List<String> client(List<String> words) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", CLIENT.toString(), PROGRAM.toString()));
    command.addAll(words);
    return run(command.toArray(String[]::new));
  }

  private List<String> run(String... command) throws IOException, InterruptedException {
    File errors = folder.resolve("program.errors").toFile();
    File lines = folder.resolve("program.lines").toFile();
    Process process =
        new ProcessBuilder(command).redirectOutput(lines).redirectError(errors).start();
    assertTrue(process.waitFor(120, TimeUnit.SECONDS), "the program does not end");
    assertEquals(0, process.exitValue(), () -> read(errors));
    try (Stream<String> all = Files.lines(lines.toPath())) {
      return all.toList();
    }
  }

  private static String read(File file) {
    try {
      return Files.readString(file.toPath());
    } catch (IOException e) {
      return e.toString();
    }
  }
}
