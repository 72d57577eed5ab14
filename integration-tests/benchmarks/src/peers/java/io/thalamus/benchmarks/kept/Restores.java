// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kept;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions.OptLevel;
import ai.onnxruntime.TensorInfo;
import io.thalamus.benchmarks.network.Network;
import io.thalamus.benchmarks.network.OnnxFile;
import io.thalamus.benchmarks.network.TfliteFile;
import io.thalamus.benchmarks.network.Zoo;
import io.thalamus.vectors.ConformanceData;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The entry of {@code integration-tests/run restores}: what a stored compilation saves. Processes
 * of the product compile a model, or restore it from a cache, and those of ONNX Runtime optimize a
 * graph, or open the one that was optimized before; they take turns. Compilations are timed by
 * {@code nn:bench}: the first one of a process without a cache (<i>cold</i>), another one after it
 * (<i>again</i>), the first one of a process that stores it (<i>stored</i>), and the next one, out
 * of the cache (<i>restored</i>). Of {@code npu}, whose search is in the background, a compilation
 * that waits for it and stores it too (<i>searched</i>), and the next one (<i>found</i>). First
 * results are those of {@code nn:run} in a process that restores at once, or compiles, from the
 * start of the process to its end.
 */
public final class Restores {
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final double MILLION = 1e6;
  private static final int HASHES = 9;
  private static final String QUANTIZED = "mobilenet_v2_100_224_uint8";

  private Restores() {}

  /**
   * Takes {@code --runs N}, {@code --devices LIST} and {@code --models LIST}. A process of ONNX
   * Runtime is this class with {@code onnxruntime FILE plain|optimized|store}.
   */
  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 3 && arguments[0].equals("onnxruntime")) {
      onnxRuntime(Path.of(arguments[1]), arguments[2]);
      return;
    }
    int runs = 5;
    List<String> devices = List.of("simd", "npu", "x86");
    List<String> models = List.of("mobilenet_v2", QUANTIZED, "resnet_50");
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      switch (arguments[i]) {
        case "--runs" -> runs = Integer.parseInt(arguments[i + 1]);
        case "--devices" -> devices = List.of(arguments[i + 1].split(","));
        case "--models" -> models = List.of(arguments[i + 1].split(","));
        default -> {
          System.err.println("unknown: " + arguments[i] + "; known: --runs, --devices, --models");
          System.exit(2);
        }
      }
    }
    Path folder = Files.createTempDirectory("thalamus-restores");
    try {
      for (String model : models) {
        new Comparison(folder, model, devices, runs).run();
      }
    } finally {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  /** One model in all ways. */
  private record Comparison(Path folder, String model, List<String> devices, int runs) {
    void run() throws Exception {
      Path tflite = folder.resolve(model + ".tflite");
      Path onnx = folder.resolve(model + ".onnx");
      if (model.equals(QUANTIZED)) {
        Files.copy(ConformanceData.models().orElseThrow().resolve(model + "/model.tflite"), tflite);
      } else {
        Network network = Zoo.network(model);
        TfliteFile.write(network, tflite);
        OnnxFile.write(network, onnx);
      }
      hash(tflite);
      for (String device : devices) {
        product(device, tflite);
      }
      if (Files.exists(onnx)) {
        Figures figures = new Figures(model + ".onnxruntime");
        peer(onnx, "store", "stored", new Figures(""));
        for (int i = 0; i < runs; i++) {
          peer(onnx, "plain", "cold", figures);
          peer(onnx, "optimized", "restored", figures);
        }
        figures.print();
      }
    }

    /** The time of nothing but the hash that vouches for what is restored, once it is compiled. */
    private void hash(Path file) throws Exception {
      byte[] bytes = Files.readAllBytes(file);
      double best = Double.MAX_VALUE;
      for (int i = 0; i < HASHES; i++) {
        long start = System.nanoTime();
        MessageDigest.getInstance("SHA-256").digest(bytes);
        best = Math.min(best, (System.nanoTime() - start) / MILLION);
      }
      System.out.printf("%s.bytes = %d%n%s.hashMillis = %.1f%n", model, bytes.length, model, best);
    }

    private void product(String device, Path file) throws Exception {
      Figures figures = new Figures(model + "." + device);
      List<String> cached =
          List.of("--cache", folder.resolve("cache-" + model + "-" + device).toString());
      String refusal = start(device, file, "run", List.of("random:1"), cached).errors();
      if (!refusal.isBlank()) {
        System.out.println(model + "." + device + " = not measured: " + refusal.strip());
        return;
      }
      List<String> bench = List.of("--seconds", "0.01", "--json");
      Path searching = folder.resolve("searching");
      boolean searches = device.equals("npu");
      if (searches) {
        process(thalamus(searching, device, "config", "npu.searchFirst=true", "--keep"));
      }
      for (int i = 0; i < runs; i++) {
        String plain = start(device, file, "bench", bench, List.of()).text();
        figures.add("cold.compileMillis", number(plain, "coldCompileMillis"));
        figures.add("again.compileMillis", number(plain, "warmCompileMillis"));
        if (searches) {
          String searched = start(searching, device, file, "bench", bench, cached).text();
          figures.add("searched.compileMillis", number(searched, "coldCompileMillis"));
          figures.add("found.compileMillis", number(searched, "warmCompileMillis"));
        }
        String stored = start(device, file, "bench", bench, cached).text();
        figures.add("stored.compileMillis", number(stored, "coldCompileMillis"));
        figures.add("restored.compileMillis", number(stored, "warmCompileMillis"));
        for (boolean isCached : new boolean[] {false, true}) {
          figures.add(
              (isCached ? "restored" : "cold") + ".firstResultMillis",
              start(device, file, "run", List.of("random:1"), isCached ? cached : List.of())
                  .millis());
        }
      }
      figures.print();
    }

    private Output start(
        String device, Path file, String command, List<String> more, List<String> cached)
        throws IOException, InterruptedException {
      return start(folder.resolve("storage"), device, file, command, more, cached);
    }

    private Output start(
        Path storage,
        String device,
        Path file,
        String command,
        List<String> more,
        List<String> cached)
        throws IOException, InterruptedException {
      List<String> words = thalamus(storage, device, command, file.toString());
      words.addAll(more);
      words.addAll(List.of("--device", device, "--fallback", "deny"));
      words.addAll(cached);
      return process(words);
    }

    private static List<String> thalamus(Path storage, String device, String... command) {
      List<String> words = new ArrayList<>();
      words.add(ROOT.resolve("launcher/target/thalamus/bin/thalamus").toString());
      words.addAll(List.of("--storage", storage.toString(), "--with", "cpu," + device));
      words.addAll(List.of(command));
      return words;
    }

    private void peer(Path file, String way, String name, Figures figures) throws Exception {
      Output output =
          process(
              List.of(
                  Path.of(System.getProperty("java.home"), "bin/java").toString(),
                  "--enable-native-access=ALL-UNNAMED",
                  "-Dthalamus.root=" + ROOT,
                  "-cp",
                  peerClassPath(),
                  Restores.class.getName(),
                  "onnxruntime",
                  file.toString(),
                  way));
      if (!output.errors().isEmpty()) {
        throw new IOException("ONNX Runtime: " + output.errors());
      }
      figures.add(name + ".compileMillis", Double.parseDouble(output.text().strip()));
      figures.add(name + ".firstResultMillis", output.millis());
    }
  }

  /** Returns these classes and ONNX Runtime alone, which start soonest. */
  private static String peerClassPath() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(path -> !path.endsWith(".jar") || path.contains("/onnxruntime-"))
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static double number(String json, String name) throws IOException {
    Matcher number = Pattern.compile("\"" + name + "\":([0-9.E]+)").matcher(json);
    if (!number.find()) {
      throw new IOException("no " + name + " in: " + json);
    }
    return Double.parseDouble(number.group(1));
  }

  /** Times of one model in one engine, by name. */
  private static final class Figures {
    private final String name;
    private final Map<String, List<Double>> all = new TreeMap<>();

    Figures(String name) {
      this.name = name;
    }

    void add(String figure, double millis) {
      all.computeIfAbsent(figure, _ -> new ArrayList<>()).add(millis);
    }

    private double median(String figure) {
      List<Double> sorted = all.get(figure).stream().sorted().toList();
      return sorted.get(sorted.size() / 2);
    }

    void print() {
      for (Map.Entry<String, List<Double>> figure : all.entrySet()) {
        System.out.printf(
            "%s.%s = %.1f (%.1f to %.1f)%n",
            name,
            figure.getKey(),
            median(figure.getKey()),
            Collections.min(figure.getValue()),
            Collections.max(figure.getValue()));
      }
      Map<String, String> pairs =
          Map.of(
              "stored", "restored", "cold", "restored", "again", "restored", "searched", "found");
      for (Map.Entry<String, String> pair : new TreeMap<>(pairs).entrySet()) {
        if (all.containsKey(pair.getKey() + ".compileMillis")) {
          System.out.printf(
              "%s.%s.compileRatio = %.2f%n",
              name,
              pair.getKey(),
              median(pair.getKey() + ".compileMillis")
                  / median(pair.getValue() + ".compileMillis"));
        }
      }
      System.out.printf(
          "%s.firstResultRatio = %.2f%n",
          name, median("cold.firstResultMillis") / median("restored.firstResultMillis"));
    }
  }

  /**
   * What a process wrote.
   *
   * @param errors empty where it ended well
   */
  private record Output(String text, String errors, double millis) {}

  private static Output process(List<String> words) throws IOException, InterruptedException {
    Path errors = Files.createTempFile("thalamus-restores", ".txt");
    try {
      long start = System.nanoTime();
      Process process = new ProcessBuilder(words).redirectError(errors.toFile()).start();
      String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      boolean isWell = process.waitFor() == 0;
      double millis = (System.nanoTime() - start) / MILLION;
      return new Output(text, isWell ? "" : Files.readString(errors) + " failed", millis);
    } finally {
      Files.delete(errors);
    }
  }

  private static void onnxRuntime(Path file, String way) throws OrtException {
    Path optimized = Path.of(file + ".optimized");
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(2);
      options.setOptimizationLevel(way.equals("optimized") ? OptLevel.NO_OPT : OptLevel.ALL_OPT);
      if (way.equals("store")) {
        options.setOptimizedModelFilePath(optimized.toString());
      }
      long start = System.nanoTime();
      Path opened = way.equals("optimized") ? optimized : file;
      try (OrtSession session = environment.createSession(opened.toString(), options)) {
        double millis = (System.nanoTime() - start) / MILLION;
        String name = session.getInputNames().iterator().next();
        TensorInfo info = (TensorInfo) session.getInputInfo().get(name).getInfo();
        long bytes = Float.BYTES * Arrays.stream(info.getShape()).reduce(1, (a, b) -> a * b);
        ByteBuffer input = ByteBuffer.allocateDirect((int) bytes);
        try (OnnxTensor tensor =
                OnnxTensor.createTensor(environment, input, info.getShape(), info.type);
            OrtSession.Result result = session.run(Map.of(name, tensor))) {
          System.out.println(result.size() == 1 ? millis : Double.NaN);
        }
      }
    }
  }
}
