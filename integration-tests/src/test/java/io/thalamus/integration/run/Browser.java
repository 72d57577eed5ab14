// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Chromium with one page, by its driver, which speaks HTTP. Of one thread. */
final class Browser implements AutoCloseable {
  private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
  private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
  private static final Pattern PORT = Pattern.compile("on port (\\d+)");
  private static final Pattern SESSION = Pattern.compile("\"sessionId\":\"([^\"]+)\"");
  private static final Pattern VALUE = Pattern.compile("\\{\"value\":\"(.*)\"}", Pattern.DOTALL);

  /** A request in the log of the network, which is JSON within JSON. */
  private static final Pattern SENT =
      Pattern.compile(
          "Network\\.requestWillBeSent\\\\\".*?\\\\\"request\\\\\":\\{.*?\\\\\"url\\\\\":\\\\\"(.*?)\\\\\"");

  private final HttpClient client = HttpClient.newHttpClient();
  private final Process driver;
  private final String session;

  private Browser(Process driver, String port) throws IOException, InterruptedException {
    this.driver = driver;
    String root = "http://127.0.0.1:" + port + "/session";
    String answer =
        send(
            root,
            """
            {"capabilities":{"alwaysMatch":{"browserName":"chrome","goog:loggingPrefs":\
            {"performance":"ALL"},"goog:chromeOptions":{"binary":"%s","args":["--headless=new",\
            "--no-sandbox","--disable-gpu","--hide-scrollbars","--window-size=1280,960"]}}}}\
            """
                .formatted(CHROMIUM));
    Matcher id = SESSION.matcher(answer);
    if (!id.find()) {
      throw new IOException("the driver says: " + answer);
    }
    session = root + "/" + id.group(1);
  }

  /** Returns a browser; empty where none is installed. */
  static Optional<Browser> start() throws IOException, InterruptedException {
    if (!Files.isExecutable(DRIVER) || !Files.isExecutable(CHROMIUM)) {
      return Optional.empty();
    }
    Process driver =
        new ProcessBuilder(DRIVER.toString(), "--port=0").redirectErrorStream(true).start();
    boolean isStarted = false;
    try {
      for (String line = ""; line != null; line = driver.inputReader().readLine()) {
        Matcher port = PORT.matcher(line);
        if (port.find() && line.contains("success")) {
          Browser browser = new Browser(driver, port.group(1));
          isStarted = true;
          return Optional.of(browser);
        }
      }
      throw new IOException("the driver of the browser ends at once");
    } finally {
      if (!isStarted) {
        driver.destroyForcibly();
      }
    }
  }

  private String send(String uri, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(uri)).POST(BodyPublishers.ofString(body)).build();
    HttpResponse<String> answer = client.send(request, BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(uri + ": " + answer.body());
    }
    return answer.body();
  }

  void open(String uri) throws IOException, InterruptedException {
    send(session + "/url", "{\"url\":\"" + uri + "\"}");
  }

  /** Returns what is at the place with this id, as JSON writes it but for its brackets. */
  String part(String id) throws IOException, InterruptedException {
    String script = "return document.getElementById('" + id + "').innerHTML";
    String answer = send(session + "/execute/sync", "{\"script\":\"" + script + "\",\"args\":[]}");
    Matcher value = VALUE.matcher(answer);
    return value.matches() ? value.group(1).replace("\\u003C", "<") : "";
  }

  /** Returns the addresses that the browser has asked since the last look. */
  Set<String> asked() throws IOException, InterruptedException {
    Set<String> addresses = new TreeSet<>();
    Matcher sent = SENT.matcher(send(session + "/se/log", "{\"type\":\"performance\"}"));
    while (sent.find()) {
      addresses.add(sent.group(1));
    }
    return addresses;
  }

  void picture(Path file) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(session + "/screenshot")).build();
    Matcher value = VALUE.matcher(client.send(request, BodyHandlers.ofString()).body());
    if (!value.matches()) {
      throw new IOException("the browser gives no picture");
    }
    Files.write(file, Base64.getDecoder().decode(value.group(1)));
  }

  @Override
  public void close() throws IOException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(session)).DELETE().build();
    try {
      client.send(request, BodyHandlers.discarding());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      driver.destroy();
      client.close();
    }
  }
}
