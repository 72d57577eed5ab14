// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;
import org.osgi.util.tracker.ServiceTracker;

/**
 * The bundles in a container with a shell of its own, as Karaf is: it has the API of Gogo and of a
 * log, and neither Gogo's runtime nor JLine, File Install or a service that reads the log.
 */
class BareContainerTest {
  private static final Pattern ABSENT =
      Pattern.compile("org\\.apache\\.felix\\.(gogo\\..*|log|fileinstall)|org\\.jline.*");
  private static final long PATIENCE_MILLIS = TimeUnit.SECONDS.toMillis(60);

  @TempDir Path directory;

  private Framework framework;
  private final List<Bundle> bundles = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    Map<String, String> configuration = new HashMap<>();
    configuration.put(Constants.FRAMEWORK_STORAGE, directory.resolve("cache").toString());
    configuration.put(
        Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA,
        "org.apache.felix.service.command;version=\"1.0.0\","
            + " org.osgi.service.log;version=\"1.5.0\"");
    configuration.put("thalamus.storage", directory.toString());
    framework =
        ServiceLoader.load(FrameworkFactory.class)
            .findFirst()
            .orElseThrow()
            .newFramework(configuration);
    framework.start();
    BundleContext context = framework.getBundleContext();
    for (String line : Files.readAllLines(ProjectFiles.DISTRIBUTION.resolve("bin/bundles"))) {
      String[] words = line.split(" ");
      boolean isOtherDevice =
          words[1].startsWith("devices/") && !words[2].equals("io.thalamus.cpu");
      if (!isOtherDevice && !ABSENT.matcher(words[2]).matches()) {
        Path jar = ProjectFiles.DISTRIBUTION.resolve(words[1]);
        bundles.add(context.installBundle("reference:" + jar.toUri()));
      }
    }
  }

  @AfterEach
  void stop() throws Exception {
    framework.stop();
    framework.waitForStop(TimeUnit.SECONDS.toMillis(10));
  }

  private Object service(String filter) throws Exception {
    BundleContext context = framework.getBundleContext();
    ServiceTracker<Object, Object> tracker =
        new ServiceTracker<>(context, context.createFilter(filter), null);
    tracker.open(true);
    try {
      Object service = tracker.waitForService(PATIENCE_MILLIS);
      assertTrue(service != null, () -> "no service " + filter);
      return service;
    } finally {
      tracker.close();
    }
  }

  /** A session and a processor as another implementation of Gogo's API has them. */
  private static <T> T foreign(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            BareContainerTest.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, _) ->
                switch (method.getName()) {
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "toString" -> "a " + type.getSimpleName();
                  case "currentDir" -> Path.of("");
                  default -> null;
                }));
  }

  @Test
  void everyBundleStartsAndTheCommandsWork() throws Exception {
    for (Bundle bundle : bundles) {
      bundle.start();
      assertEquals(Bundle.ACTIVE, bundle.getState(), bundle::toString);
    }
    service("(osgi.condition.id=thalamus.ready)");
    Object command = service("(&(osgi.command.scope=nn)(osgi.command.function=devices))");
    Method devices = command.getClass().getMethod("devices", CommandSession.class, String[].class);
    devices.setAccessible(true);
    Object result = devices.invoke(command, foreign(CommandSession.class), new String[0]);
    Method text = result.getClass().getMethod("text");
    text.setAccessible(true);
    assertTrue(text.invoke(result).toString().contains("cpu"), result::toString);
  }

  /** The launcher's way to commands says what it lacks, where somebody asks for it. */
  @Test
  void theServiceOfTheLauncherSaysThatItNeedsGogo() throws Exception {
    framework
        .getBundleContext()
        .registerService(CommandProcessor.class, foreign(CommandProcessor.class), null);
    for (Bundle bundle : bundles) {
      bundle.start();
    }
    @SuppressWarnings("unchecked") // what the launcher takes it for
    ToIntFunction<Map<String, Object>> batch =
        (ToIntFunction<Map<String, Object>>) service("(thalamus.batch=true)");
    var said = new ByteArrayOutputStream();
    Map<String, Object> request =
        Map.of("words", List.of("devices"), "err", new PrintStream(said, true));
    assertEquals(1, batch.applyAsInt(request));
    assertTrue(said.toString().startsWith("thalamus: the shell needs Felix Gogo"), said::toString);
  }

  /** Such containers list the packages of the JDK by hand. */
  @Test
  void noBundleImportsPackagesThatEveryJavaHas() throws Exception {
    for (Bundle bundle : bundles) {
      String imports = bundle.getHeaders("").get(Constants.IMPORT_PACKAGE);
      if (bundle.getSymbolicName().startsWith("io.thalamus.")) {
        List<String> wrong =
            ProjectFiles.clauses(imports).keySet().stream()
                .filter(name -> name.startsWith("java."))
                .toList();
        assertEquals(List.of(), wrong, bundle::toString);
      }
    }
  }
}
