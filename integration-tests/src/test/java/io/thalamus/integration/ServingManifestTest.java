// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The manifest for Kubernetes in docs/serving-elsewhere.md, beside what the server does. */
class ServingManifestTest {
  private static final Pattern ARGUMENTS = Pattern.compile("args: \\[(.*)]");
  private static final Pattern PROBE = Pattern.compile("httpGet: \\{path: ([^,]+), port: (\\d+)}");
  private static final Pattern URI_AT_START = Pattern.compile("http://\\S+");
  private static final long PATIENCE_SECONDS = 60;

  @TempDir Path folder;

  @Test
  void theServerTakesItsArgumentsAnswersItsProbesAndEndsWithZero() throws Exception {
    String page = Files.readString(ProjectFiles.ROOT.resolve("docs/serving-elsewhere.md"));
    Matcher given = ARGUMENTS.matcher(page);
    assertTrue(given.find());
    List<String> arguments =
        new ArrayList<>(
            Arrays.stream(given.group(1).split(","))
                .map(each -> each.strip().replace("\"", ""))
                .toList());
    String port = arguments.get(arguments.indexOf("--port") + 1);
    List<MatchResult> probes = PROBE.matcher(page).results().toList();
    assertEquals(3, probes.size());
    // What this machine and this test can have: any free port, models of its own, no wait.
    Path models = Files.createDirectory(folder.resolve("models"));
    Files.copy(
        ProjectFiles.DISTRIBUTION.resolve("samples/digits/digits.tflite"),
        models.resolve("digits.tflite"));
    arguments.set(arguments.indexOf("--models") + 1, models.toString());
    arguments.set(arguments.indexOf("--port") + 1, "0");
    arguments.set(arguments.indexOf("--grace") + 1, "0");
    arguments.addAll(List.of("--grpc-port", "0"));
    Process server = start(arguments);
    try (HttpClient client = HttpClient.newHttpClient()) {
      String line = server.inputReader().readLine();
      Matcher uri = URI_AT_START.matcher(String.valueOf(line));
      assertTrue(uri.find(), line);
      int listening = URI.create(uri.group()).getPort();
      for (MatchResult probe : probes) {
        assertEquals(port, probe.group(2));
        HttpRequest request =
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + listening + probe.group(1)))
                .build();
        assertEquals(200, client.send(request, BodyHandlers.discarding()).statusCode());
      }
      server.destroy();
      assertTrue(server.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "it goes on");
      assertEquals(0, server.exitValue());
    } finally {
      server.destroyForcibly();
    }
  }

  private Process start(List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString());
    command.addAll(List.of("--storage", folder.resolve("storage").toString(), "--with", "cpu"));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--port", "--grpc-port"})
  void aPortThatIsInUseIsNamedAtOnce(String option) throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      String port = Integer.toString(taken.getLocalPort());
      String other = option.equals("--port") ? "--grpc-port" : "--port";
      Process server =
          start(List.of("serve", "--models", folder.toString(), option, port, other, "0"));
      List<String> lines = server.inputReader().lines().toList();
      assertEquals(1, server.waitFor());
      assertEquals(1, lines.size(), lines::toString);
      String expected = "thalamus: cannot listen at 127.0.0.1:" + port + ": ";
      assertTrue(lines.getFirst().startsWith(expected), lines::toString);
      assertTrue(
          lines.getFirst().endsWith("; --port and --grpc-port choose others"), lines::toString);
    }
  }

  @Test
  void settingsOfAnyBundleAreTakenAndOthersRefusedByName() throws Exception {
    List<String> arguments =
        List.of("serve", "--models", folder.toString(), "--port", "0", "--grpc-port", "0");
    Process server = start(with(arguments, "runtime.devices.permits=3"));
    try {
      String line = server.inputReader().readLine();
      assertTrue(line.startsWith("serving 0 models at "), line);
    } finally {
      server.destroyForcibly();
      server.waitFor();
    }
    Process refused = start(with(arguments, "runtime.devices.permit=3"));
    List<String> lines = refused.inputReader().lines().toList();
    assertEquals(2, refused.waitFor(), lines::toString);
    assertTrue(
        lines.getFirst().contains("--set runtime.devices.permit=3: there is no permit, but "),
        lines::toString);
  }

  @Test
  void aServerSaysAtOnceWhatItsFolderOfDevicesPassesOver() throws Exception {
    Process server =
        start(List.of("serve", "--models", folder.toString(), "--port", "0", "--grpc-port", "0"));
    try {
      BufferedReader lines = server.inputReader();
      assertTrue(lines.readLine().startsWith("serving 0 models at "));
      Path bad = Files.writeString(folder.resolve("storage/deploy/bad.jar"), "nothing of use");
      Future<Optional<String>> line =
          CompletableFuture.supplyAsync(() -> lines.lines().findFirst());
      String told = line.get(PATIENCE_SECONDS, TimeUnit.SECONDS).orElse("");
      assertTrue(told.startsWith("thalamus: " + bad + " is no bundle: "), told);
    } finally {
      server.destroyForcibly();
      server.waitFor();
    }
  }

  private static List<String> with(List<String> arguments, String setting) {
    List<String> all = new ArrayList<>(arguments);
    all.addAll(List.of("--set", setting));
    return all;
  }
}
