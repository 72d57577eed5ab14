// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import io.thalamus.benchmarks.network.OnnxFile;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.jar.JarOutputStream;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;

/**
 * The entry of {@code integration-tests/run first-result}: the ten lines of the README, and the
 * same program with ONNX Runtime and with DJL, each in processes of their own, one after another. A
 * time is that from the start of the process to its first line, the JVM's own start included;
 * memory is the most that was resident; downloaded are the jars on the class path. Each is measured
 * once more with an AOT cache of the JVM, which a run before has made.
 */
public final class FirstResult {
  private static final int RUNS = 5;
  private static final Path ROOT = Path.of(System.getProperty("thalamus.root"));
  private static final Path SAMPLES = ROOT.resolve("launcher/samples/digits");
  private static final Pattern TEN_LINES =
      Pattern.compile("```java\\n(import io\\.thalamus\\.embedded.*?)```", Pattern.DOTALL);
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s*(\\d+) kB");

  private FirstResult() {}

  /**
   * A program.
   *
   * @param jars what it needs
   * @param classes where its own class is
   */
  private record Program(
      String name, List<Path> jars, Path classes, String main, List<String> options) {}

  private record Run(String answer, double millis, long peakKilobytes) {}

  /** Takes no arguments; ends with 1 if an answer is not 3. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Files.createTempDirectory("thalamus-first");
    boolean areRight = true;
    try {
      Files.copy(SAMPLES.resolve("digits.tflite"), folder.resolve("digits.tflite"));
      Files.copy(SAMPLES.resolve("digit-3.png"), folder.resolve("digit-3.png"));
      OnnxFile.write(
          DigitsNetwork.read(folder.resolve("digits.tflite")), folder.resolve("digits.onnx"));
      for (Program program : programs(folder)) {
        areRight &= measure(program, folder);
      }
    } finally {
      delete(folder);
    }
    System.exit(areRight ? 0 : 1);
  }

  private static List<Program> programs(Path folder) throws IOException {
    List<Path> classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(Path::of)
            .toList();
    Path own = classPath.getFirst();
    Path embedded;
    try (Stream<Path> files = Files.list(ROOT.resolve("bundles/embedded/target"))) {
      embedded =
          files
              .filter(
                  file ->
                      file.getFileName()
                          .toString()
                          .matches("io\\.thalamus\\.embedded-[^-]+(-SNAPSHOT)?\\.jar"))
              .findFirst()
              .orElseThrow();
    }
    return List.of(
        new Program(
            "thalamus",
            List.of(embedded),
            compiled(embedded, folder),
            "Digits",
            hasMachineCode() ? List.of() : List.of("--add-modules=jdk.incubator.vector")),
        new Program(
            "onnxruntime",
            jars(classPath, "onnxruntime-[0-9].*"),
            own,
            OnnxRuntimeDigits.class.getName(),
            List.of()),
        new Program(
            "djl",
            jars(
                classPath,
                "(onnxruntime|api|gson|jna|commons-(compress|codec|io|lang3)|slf4j-api)-[0-9].*"
                    + "|onnxruntime-engine-.*"),
            own,
            DjlDigits.class.getName(),
            List.of()));
  }

  /**
   * Returns true where {@code x86} runs, beside which {@code simd} and its module are not needed.
   */
  private static boolean hasMachineCode() {
    return System.getProperty("os.name").equals("Linux")
        && System.getProperty("os.arch").equals("amd64");
  }

  private static List<Path> jars(List<Path> classPath, String pattern) {
    return classPath.stream()
        .filter(path -> path.getFileName().toString().matches(pattern))
        .toList();
  }

  /** Compiles the README's program as it stands there. */
  private static Path compiled(Path jar, Path folder) throws IOException {
    Matcher lines = TEN_LINES.matcher(Files.readString(ROOT.resolve("README.md")));
    if (!lines.find()) {
      throw new IOException("the README has no ten lines of Java");
    }
    Path source = Files.writeString(folder.resolve("Digits.java"), lines.group(1));
    Path classes = Files.createDirectory(folder.resolve("classes"));
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                System.err,
                System.err,
                "-cp",
                jar.toString(),
                "-d",
                classes.toString(),
                source.toString());
    if (status != 0) {
      throw new IOException("the ten lines of the README do not compile");
    }
    return classes;
  }

  private static boolean measure(Program program, Path folder) throws Exception {
    if (program.jars().isEmpty()) {
      System.out.println(program.name() + " = not measured: its jars are not on the class path");
      return true;
    }
    long bytes = 0;
    for (Path jar : program.jars()) {
      bytes += Files.size(jar);
    }
    print(program, "jars", program.jars().size());
    print(program, "downloadedMegabytes", "%.1f".formatted(bytes / 1e6));
    Path cache = folder.resolve(program.name() + ".aot");
    boolean isRight = measure(program, "", List.of(), folder);
    run(program, List.of("-XX:AOTCacheOutput=" + cache), folder);
    return isRight & measure(program, "aot.", List.of("-XX:AOTCache=" + cache), folder);
  }

  private static boolean measure(Program program, String kind, List<String> options, Path folder)
      throws Exception {
    List<Run> runs = new ArrayList<>();
    for (int i = 0; i < RUNS; i++) {
      runs.add(run(program, options, folder));
    }
    List<Run> byTime = runs.stream().sorted(Comparator.comparingDouble(Run::millis)).toList();
    String answer = runs.getFirst().answer();
    print(program, kind + "answer", answer);
    String first = kind + "coldFirstResultMillis.";
    print(program, first + "median", Math.round(byTime.get(RUNS / 2).millis()));
    print(program, first + "fastest", Math.round(byTime.getFirst().millis()));
    long peak = runs.stream().mapToLong(Run::peakKilobytes).max().orElse(0);
    print(program, kind + "peakResidentMegabytes", peak == 0 ? "unknown here" : "" + peak / 1024);
    return answer.startsWith("[3 ");
  }

  private static void print(Program program, String figure, Object value) {
    System.out.println(program.name() + "." + figure + " = " + value);
  }

  /** Returns a jar of a program's own classes: of folders, an AOT cache is not made. */
  private static Path packed(Program program, Path folder) throws IOException {
    Path jar = folder.resolve(program.name() + ".jar");
    if (Files.exists(jar)) {
      return jar;
    }
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(program.classes())) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new ZipEntry(program.classes().relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }

  private static Run run(Program program, List<String> options, Path folder) throws Exception {
    List<String> words = new ArrayList<>();
    words.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    words.addAll(program.options());
    words.addAll(options);
    words.add("--enable-native-access=ALL-UNNAMED");
    words.add("-cp");
    List<String> places = new ArrayList<>(List.of(packed(program, folder).toString()));
    program.jars().forEach(jar -> places.add(jar.toString()));
    words.add(String.join(File.pathSeparator, places));
    words.add(program.main());
    Path errors = folder.resolve("errors");
    long start = System.nanoTime();
    Process process =
        new ProcessBuilder(words).directory(folder.toFile()).redirectError(errors.toFile()).start();
    Peak peak = new Peak(process);
    peak.start();
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(process.getInputStream()))) {
      String answer = reader.readLine();
      double millis = (System.nanoTime() - start) / 1e6;
      if (process.waitFor() != 0 || answer == null) {
        throw new IOException(program.name() + " fails: " + Files.readString(errors));
      }
      peak.join();
      return new Run(answer, millis, peak.kilobytes);
    }
  }

  /** A watch over the resident memory of a process, as Linux counts it. */
  private static final class Peak extends Thread {
    private static final long PAUSE_MILLIS = 5;

    private final Process process;
    private long kilobytes;

    Peak(Process process) {
      super("peak of " + process.pid());
      this.process = process;
    }

    @Override
    public void run() {
      Path status = Path.of("/proc/" + process.pid() + "/status");
      try {
        while (process.isAlive()) {
          Matcher peak = PEAK.matcher(Files.readString(status));
          if (peak.find()) {
            kilobytes = Long.parseLong(peak.group(1));
          }
          Thread.sleep(PAUSE_MILLIS);
        }
      } catch (IOException gone) {
        // The process has ended, or this is not Linux: what was seen counts.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
