// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A process of {@code ./thalamus serve} with the device cpu, and a client of it. Thread-safe. */
final class RunningServer implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final long GRANULE_BYTES = 64 * 1024;

  private final Process process;
  private final String uri;
  private final String grpc;
  private final HttpClient client = HttpClient.newHttpClient();

  /** Threads and mappings of a process, as Linux says, and class loaders of bundles in it. */
  record Footprint(long threads, long mappings, long loaders) {}

  private RunningServer(Process process, String uri, String grpc) {
    this.process = process;
    this.uri = uri;
    this.grpc = grpc;
  }

  /**
   * Starts a server on {@code cpu} whose threads, mappings and class loaders can be counted, and
   * waits until it is ready. It is slower than others: each collection takes caches of the JDK.
   */
  static RunningServer startCounted(Path folder, Path models, String... more) throws IOException {
    Map<String, String> environment =
        Map.of(
            // The C library keeps the stacks of up to 40 ended threads, and their mappings would be
            // counted.
            "GLIBC_TUNABLES",
            "glibc.pthread.stack_cache_size=0",
            // Class loaders that only soft references of the JDK hold are not left over.
            "THALAMUS_JAVA_OPTIONS",
            "-XX:SoftRefLRUPolicyMSPerMB=0");
    return start(environment, "cpu", folder, models, more);
  }

  /** Starts a server with these devices, as users do, and waits until it is ready. */
  static RunningServer start(String devices, Path folder, Path models, String... more)
      throws IOException {
    return start(Map.of(), devices, folder, models, more);
  }

  private static RunningServer start(
      Map<String, String> environment, String devices, Path folder, Path models, String... more)
      throws IOException {
    String root = System.getProperty("thalamus.root");
    String home = System.getProperty("thalamus.home", root + "/launcher/target/thalamus");
    List<String> command = new ArrayList<>();
    command.add(home + "/bin/thalamus");
    command.addAll(List.of("--storage", folder.resolve("storage").toString(), "--with", devices));
    command.addAll(List.of("serve", "--models", models.toString(), "--port", "0"));
    command.addAll(List.of("--grpc-port", "0", "--set", "serving.scanMillis=100"));
    command.addAll(List.of(more));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(folder.resolve("errors").toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    BufferedReader out = process.inputReader();
    String line = out.readLine();
    Matcher uri = Pattern.compile("(http://\\S+) grpc://(\\S+)").matcher(String.valueOf(line));
    if (!uri.find()) {
      process.destroyForcibly();
      throw new IOException(
          "the server says: " + line + Files.readString(folder.resolve("errors")));
    }
    return new RunningServer(process, uri.group(1), uri.group(2));
  }

  /** Returns a client for one thread over a protocol: rest, grpc or stream. */
  Caller caller(String protocol) {
    return switch (protocol) {
      case "rest" -> new RestCaller(this);
      case "grpc" -> new GrpcCaller(grpc);
      case "stream" -> new StreamCaller(grpc);
      default ->
          throw new IllegalArgumentException("protocol " + protocol + ": rest, grpc or stream");
    };
  }

  /** Returns host and port. */
  String address() {
    return uri.substring("http://".length());
  }

  /** Returns the body of an answer with 200. */
  String get(String path) throws IOException, InterruptedException {
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(uri + path)).timeout(PATIENCE).build(),
            BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(path + ": " + answer.statusCode() + " " + answer.body());
    }
    return answer.body();
  }

  /** Returns a figure of the server without labels. */
  long figure(String name) throws IOException, InterruptedException {
    return get("/metrics")
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(name.length() + 1)))
        .findFirst()
        .orElseThrow(() -> new IOException("there is no figure " + name));
  }

  /** Asks for all outputs of a model with one INT8 input of 1x28x28x1, in binary. */
  HttpResponse<byte[]> inferPicture(String model, String input, byte[] value)
      throws IOException, InterruptedException {
    String header =
        """
        {"parameters":{"binary_data_output":true,"report":true},"inputs":[{"name":"%s",\
        "datatype":"INT8","shape":[1,28,28,1],"parameters":{"binary_data_size":%d}}]}\
        """
            .formatted(input, value.length);
    return infer(model, header, value);
  }

  /** Sends a request whose JSON is followed by a value. */
  HttpResponse<byte[]> infer(String model, String json, byte[] value)
      throws IOException, InterruptedException {
    byte[] head = json.getBytes(StandardCharsets.UTF_8);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(uri + "/v2/models/" + model + "/infer"))
            .header("Inference-Header-Content-Length", Integer.toString(head.length))
            .POST(
                BodyPublishers.concat(
                    BodyPublishers.ofByteArray(head), BodyPublishers.ofByteArray(value)))
            .timeout(PATIENCE)
            .build();
    return client.send(request, BodyHandlers.ofByteArray());
  }

  /** Waits until the index says this of a version, and returns its entry. */
  String awaitEntry(String model, int version, String state) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(uri + "/v2/repository/index"))
            .POST(BodyPublishers.noBody())
            .build();
    Pattern entry =
        Pattern.compile(
            "\\{\"name\":\"%s\",\"version\":\"%d\",\"state\":\"%s\"[^}]*}"
                .formatted(model, version, state));
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      String index = client.send(request, BodyHandlers.ofString()).body();
      Matcher found = entry.matcher(index);
      if (found.find()) {
        return found.group();
      }
      if (System.nanoTime() - end > 0) {
        throw new IOException("version " + version + " is never " + state + ": " + index);
      }
      Thread.sleep(20);
    }
  }

  /** Returns a string of a JSON object; empty if it is not there. */
  static String field(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
    return found.find() ? found.group(1) : "";
  }

  /** Returns a number of a JSON object; 0 if it is not there. */
  static long number(String json, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":(\\d{1,18})").matcher(json);
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }

  /** Returns what it uses, after a collection of garbage. */
  Footprint footprint() throws IOException {
    long loaders = loaders();
    Path proc = Path.of("/proc/" + process.pid());
    try (Stream<Path> tasks = Files.list(proc.resolve("task"));
        Stream<String> maps = Files.lines(proc.resolve("maps"))) {
      return new Footprint(tasks.count(), areas(maps.toList()), loaders);
    }
  }

  /**
   * Returns the mappings, where granules of one area of metaspace that follow each other are one:
   * the JVM commits them for class loaders and gives them back, which leaves holes in an area that
   * is there anyway. They are anonymous, and all have whole multiples of 64 KB.
   */
  private static long areas(List<String> maps) {
    Pattern anonymous = Pattern.compile("(\\w+)-(\\w+) (?:rw-p|---p) 0+ 00:00 0\\s*");
    long areas = 0;
    String end = "";
    for (String map : maps) {
      Matcher found = anonymous.matcher(map);
      boolean isGranules =
          found.matches()
              && (Long.parseUnsignedLong(found.group(2), 16)
                          - Long.parseUnsignedLong(found.group(1), 16))
                      % GRANULE_BYTES
                  == 0;
      if (!isGranules || !found.group(1).equals(end)) {
        areas++;
      }
      end = isGranules ? found.group(2) : "";
    }
    return areas;
  }

  private long loaders() throws IOException {
    Process jcmd =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(process.pid()),
                "GC.class_histogram")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader lines = jcmd.inputReader()) {
      return lines
          .lines()
          .map(line -> line.strip().split("\\s+"))
          .filter(words -> words.length > 3 && words[3].endsWith("$BundleClassLoader"))
          .mapToLong(words -> Long.parseLong(words[1]))
          .sum();
    }
  }

  /** Returns the bytes of the process that are in memory, as Linux says. */
  long residentBytes() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/" + process.pid() + "/status"))) {
      return lines
              .filter(line -> line.startsWith("VmRSS:"))
              .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
              .sum()
          * 1024;
    }
  }

  /** Returns the processor time that the process has had, in hundredths of a second. */
  long processorTicks() throws IOException {
    String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }

  /**
   * Tells the process to end, as a container's host does.
   *
   * @param told is run once it was told
   * @return its exit status; -1 if it does not end
   */
  int end(Runnable told) throws InterruptedException {
    process.destroy();
    told.run();
    return process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  @Override
  public void close() {
    process.destroyForcibly();
    client.close();
  }

  /** Deletes a folder and what is in it. */
  static void delete(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    }
  }
}
