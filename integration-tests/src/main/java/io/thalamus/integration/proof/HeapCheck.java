// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.wiring.BundleWiring;

/**
 * Asks the virtual machine itself, by its diagnostic commands, what lives on the heap. Stateless.
 *
 * <p>It expects {@code -XX:SoftRefLRUPolicyMSPerMB=0}: static method handles of the JDK (those of
 * records' {@code equals}) keep the type that they were adapted to last by a soft reference, also
 * one of a framework that has ended.
 */
public final class HeapCheck {
  /**
   * The property of a framework with the number of class loaders that frameworks which this process
   * had before have left on the heap.
   */
  public static final String LEFT_BEFORE = "thalamus.proof.loaders";

  private static final Pattern LOADERS =
      Pattern.compile(
          "\\s*\\d+:\\s+(\\d+)\\s+\\d+\\s+org\\.apache\\.felix\\.framework\\."
              + "BundleWiringImpl\\$BundleClassLoader(\\s.*)?");

  /** A line of bytes and a class: not what a collector fills its gaps with. */
  private static final Pattern LIVE =
      Pattern.compile("\\s*\\d+:\\s+\\d+\\s+(\\d+)\\s+(?!\\[?L?jdk\\.internal\\.vm\\.Filler).*");

  private final BundleContext context;

  HeapCheck(BundleContext context) {
    this.context = context;
  }

  /** Returns the number of class loaders of any bundles on the heap after a full collection. */
  public static long loaders() throws JMException {
    return sum(LOADERS);
  }

  /** Returns the same without those that were there before this framework. */
  long loadersOnHeap() throws JMException {
    String before = context.getProperty(LEFT_BEFORE);
    return loaders() - (before == null ? 0 : Long.parseLong(before));
  }

  /** Returns the bytes of all objects on the heap after a full collection. */
  static long liveBytes() throws JMException {
    return sum(LIVE);
  }

  private static long sum(Pattern line) throws JMException {
    return command("gcClassHistogram")
        .lines()
        .map(line::matcher)
        .filter(Matcher::matches)
        .mapToLong(match -> Long.parseLong(match.group(1)))
        .sum();
  }

  /** Returns the number of bundles that have one. */
  long bundlesWithLoader() {
    return Arrays.stream(context.getBundle(0).getBundleContext().getBundles())
        .filter(bundle -> bundle.getBundleId() != 0)
        .filter(HeapCheck::hasWiring)
        .count();
  }

  private static boolean hasWiring(Bundle bundle) {
    return bundle.adapt(BundleWiring.class) != null;
  }

  /** A class that is still loaded and whose name begins so. */
  Optional<String> classesLoaded(String prefix) throws JMException {
    List<String> classes =
        command("vmClassHierarchy")
            .lines()
            .map(line -> line.replaceAll("^[|\\- ]+| \\(intf\\)$", ""))
            .toList();
    // Behind each name stands its class loader's address. The framework's own is that of the class
    // path, from which tests in the same process may have loaded the classes too.
    String framework = context.getBundle(0).getClass().getName() + "/";
    Optional<String> classPath =
        classes.stream()
            .filter(line -> line.startsWith(framework))
            .map(line -> line.substring(framework.length()))
            .findFirst();
    return classes.stream()
        .filter(line -> line.startsWith(prefix))
        .filter(line -> classPath.stream().noneMatch(line::endsWith))
        .findFirst();
  }

  /** The answer to a diagnostic command of the virtual machine. */
  static String command(String name, String... arguments) throws JMException {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    Object answer =
        server.invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"),
            name,
            new Object[] {arguments},
            new String[] {String[].class.getName()});
    return String.valueOf(answer);
  }
}
