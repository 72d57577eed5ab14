// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.namespace.ExecutionEnvironmentNamespace;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;

/** What a bundle lacks to be resolved, in words: the framework's own text is long. Stateless. */
final class Missing {
  private static final Pattern PACKAGE = Pattern.compile("osgi\\.wiring\\.package=([\\w.]+)");
  private static final Pattern JAVA = Pattern.compile("osgi\\.ee=JavaSE\\)\\(version>?=([\\d.]+)");
  private static final Pattern LEAST = Pattern.compile("(?<!!)\\(version>=([\\w.]+)");
  private static final Pattern BELOW = Pattern.compile("!\\(version>=([\\w.]+)");

  private Missing() {}

  /** Describes a package or a JDK that a bundle lacks; empty if it lacks none. */
  static Optional<String> of(Bundle bundle, BundleContext framework) {
    FrameworkWiring wiring = framework.getBundle().adapt(FrameworkWiring.class);
    BundleRevision revision = bundle.adapt(BundleRevision.class);
    if (revision == null) {
      return Optional.empty();
    }
    for (BundleRequirement requirement : revision.getDeclaredRequirements(null)) {
      String resolution = requirement.getDirectives().get(Constants.RESOLUTION_DIRECTIVE);
      if (!Constants.RESOLUTION_OPTIONAL.equals(resolution)
          && wiring.findProviders(requirement).isEmpty()) {
        Optional<String> text = describe(requirement, framework);
        if (text.isPresent()) {
          return text;
        }
      }
    }
    return Optional.empty();
  }

  private static Optional<String> describe(BundleRequirement requirement, BundleContext framework) {
    String filter = requirement.getDirectives().getOrDefault(Constants.FILTER_DIRECTIVE, "");
    return switch (requirement.getNamespace()) {
      case BundleRevision.PACKAGE_NAMESPACE ->
          first(PACKAGE, filter).map(name -> aboutPackage(name, filter, framework));
      case ExecutionEnvironmentNamespace.EXECUTION_ENVIRONMENT_NAMESPACE ->
          first(JAVA, filter)
              .map(
                  version ->
                      "it was compiled for Java %s, and this is Java %s"
                          .formatted(version, Runtime.version().feature()));
      default -> Optional.empty();
    };
  }

  private static String aboutPackage(String name, String filter, BundleContext framework) {
    List<String> versions = versions(name, framework);
    if (!versions.isEmpty()) {
      String wanted =
          first(LEAST, filter).map(least -> " from " + least + " on").orElse("")
              + first(BELOW, filter).map(below -> " below " + below).orElse("");
      return "it takes the package %s%s, and here is %s; build it for that"
          .formatted(name, wanted, String.join(", ", versions));
    }
    return "nothing here has the package "
        + name
        + (name.startsWith("jdk.")
            ? "; start the JVM with --add-modules=" + name
            : "; install the bundle that exports it first");
  }

  /** Returns the versions of a package that bundles here export. */
  private static List<String> versions(String name, BundleContext framework) {
    return Arrays.stream(framework.getBundles())
        .map(bundle -> bundle.adapt(BundleRevision.class))
        .filter(Objects::nonNull)
        .flatMap(each -> each.getDeclaredCapabilities(BundleRevision.PACKAGE_NAMESPACE).stream())
        .filter(each -> name.equals(each.getAttributes().get(BundleRevision.PACKAGE_NAMESPACE)))
        .map(each -> String.valueOf(each.getAttributes().get(Constants.VERSION_ATTRIBUTE)))
        .distinct()
        .toList();
  }

  private static Optional<String> first(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
  }
}
