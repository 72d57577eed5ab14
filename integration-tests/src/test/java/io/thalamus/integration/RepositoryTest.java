// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.Version;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.resource.Capability;
import org.osgi.resource.Requirement;
import org.osgi.resource.Resource;
import org.osgi.resource.Wiring;
import org.osgi.service.resolver.HostedCapability;
import org.osgi.service.resolver.ResolveContext;
import org.osgi.service.resolver.Resolver;
import org.osgi.util.tracker.ServiceTracker;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * The repository index of the distribution, as another OSGi product uses it: with a framework that
 * has nothing but itself, by the resolver of that framework.
 */
class RepositoryTest {
  private static final Path INDEX = ProjectFiles.DISTRIBUTION.resolve("index.xml");
  private static final Path SAMPLES = ProjectFiles.DISTRIBUTION.resolve("samples/digits");
  private static final String IDENTITY = "osgi.identity";
  private static final String CONTENT = "osgi.content";

  @TempDir Path directory;

  private Framework framework;

  /** A resource of the index. */
  private static final class Entry implements Resource {
    private final List<Capability> capabilities = new ArrayList<>();
    private final List<Requirement> requirements = new ArrayList<>();

    @Override
    public List<Capability> getCapabilities(String namespace) {
      return capabilities.stream()
          .filter(each -> namespace == null || namespace.equals(each.getNamespace()))
          .toList();
    }

    @Override
    public List<Requirement> getRequirements(String namespace) {
      return requirements.stream()
          .filter(each -> namespace == null || namespace.equals(each.getNamespace()))
          .toList();
    }

    String attribute(String namespace, String name) {
      return (String) getCapabilities(namespace).getFirst().getAttributes().get(name);
    }

    Path file() {
      return INDEX.resolveSibling(attribute(CONTENT, "url"));
    }
  }

  /** A capability or requirement. */
  private record Claim(
      Resource resource,
      String namespace,
      Map<String, String> directives,
      Map<String, Object> attributes)
      implements Capability, Requirement {
    @Override
    public String getNamespace() {
      return namespace;
    }

    @Override
    public Map<String, String> getDirectives() {
      return directives;
    }

    @Override
    public Map<String, Object> getAttributes() {
      return attributes;
    }

    @Override
    public Resource getResource() {
      return resource;
    }
  }

  @BeforeEach
  void start() throws Exception {
    framework =
        ServiceLoader.load(FrameworkFactory.class)
            .findFirst()
            .orElseThrow()
            .newFramework(Map.of(Constants.FRAMEWORK_STORAGE, directory.toString()));
    framework.start();
  }

  @AfterEach
  void stop() throws Exception {
    framework.stop();
    framework.waitForStop(TimeUnit.SECONDS.toMillis(10));
  }

  private static List<Entry> index() throws Exception {
    NodeList found =
        DocumentBuilderFactory.newDefaultInstance()
            .newDocumentBuilder()
            .parse(INDEX.toFile())
            .getElementsByTagName("resource");
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < found.getLength(); i++) {
      Element resource = (Element) found.item(i);
      Entry entry = new Entry();
      children(resource, "capability").forEach(each -> entry.capabilities.add(claim(entry, each)));
      children(resource, "requirement").forEach(each -> entry.requirements.add(claim(entry, each)));
      entries.add(entry);
    }
    return entries;
  }

  private static List<Element> children(Element parent, String name) {
    List<Element> children = new ArrayList<>();
    NodeList found = parent.getElementsByTagName(name);
    for (int i = 0; i < found.getLength(); i++) {
      children.add((Element) found.item(i));
    }
    return children;
  }

  private static Claim claim(Entry entry, Element element) {
    Map<String, String> directives = new HashMap<>();
    for (Element directive : children(element, "directive")) {
      directives.put(directive.getAttribute("name"), directive.getAttribute("value"));
    }
    Map<String, Object> attributes = new HashMap<>();
    for (Element attribute : children(element, "attribute")) {
      attributes.put(
          attribute.getAttribute("name"),
          value(attribute.getAttribute("type"), attribute.getAttribute("value")));
    }
    return new Claim(entry, element.getAttribute("namespace"), directives, attributes);
  }

  private static Object value(String type, String text) {
    return switch (type) {
      case "Version" -> Version.parseVersion(text);
      case "Long" -> Long.valueOf(text);
      default -> type.startsWith("List") ? List.of(text.split(",")) : text;
    };
  }

  /** The resolver's question: which resources, given that these are to be had. */
  private static final class Question extends ResolveContext {
    private final Resource asked;
    private final List<Resource> available;

    Question(Resource asked, List<Resource> available) {
      this.asked = asked;
      this.available = available;
    }

    @Override
    public List<Resource> getMandatoryResources() {
      return List.of(asked);
    }

    @Override
    public List<Capability> findProviders(Requirement requirement) {
      Map<String, String> directives = requirement.getDirectives();
      if ("optional".equals(directives.get("resolution"))) {
        return new ArrayList<>();
      }
      String filter = directives.getOrDefault("filter", "(!(no=such))");
      return available.stream()
          .flatMap(resource -> resource.getCapabilities(requirement.getNamespace()).stream())
          .filter(capability -> matches(filter, capability))
          .collect(Collectors.toCollection(ArrayList::new));
    }

    private static boolean matches(String filter, Capability capability) {
      try {
        return FrameworkUtil.createFilter(filter).matches(capability.getAttributes());
      } catch (InvalidSyntaxException e) {
        throw new IllegalArgumentException(e);
      }
    }

    @Override
    public int insertHostedCapability(List<Capability> capabilities, HostedCapability hosted) {
      throw new UnsupportedOperationException("no fragment is asked for");
    }

    /** Requirements at the start of bundles count as well. */
    @Override
    public boolean isEffective(Requirement requirement) {
      return true;
    }

    @Override
    public Map<Resource, Wiring> getWirings() {
      return Map.of();
    }
  }

  private Set<Entry> resolve(String namespace, String filter) throws Exception {
    Entry product = new Entry();
    product.requirements.add(new Claim(product, namespace, Map.of("filter", filter), Map.of()));
    product.capabilities.add(
        new Claim(
            product,
            IDENTITY,
            Map.of(),
            Map.of(IDENTITY, "product", "version", Version.emptyVersion, "type", "unknown")));
    List<Resource> available = new ArrayList<>(index());
    available.add(framework.adapt(BundleRevision.class));
    BundleContext context = framework.getBundleContext();
    Resolver resolver = context.getService(context.getServiceReference(Resolver.class));
    return resolver.resolve(new Question(product, available)).keySet().stream()
        .filter(resource -> resource != product)
        .filter(Entry.class::isInstance)
        .map(Entry.class::cast)
        .collect(Collectors.toSet());
  }

  @Test
  void theIndexHasEachBundleOfTheDistributionAsItIs() throws Exception {
    Set<String> files = new TreeSet<>();
    for (Entry entry : index()) {
      files.add(entry.attribute(CONTENT, "url"));
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(entry.file()));
      assertEquals(
          HexFormat.of().withUpperCase().formatHex(digest), entry.attribute(CONTENT, CONTENT));
    }
    assertEquals(bundlesOfTheDistribution(), files);
    // Two builds give the same bytes.
    assertTrue(Files.readString(INDEX).contains("increment=\"0\""));
  }

  private static Set<String> bundlesOfTheDistribution() throws IOException {
    try (Stream<String> lines = Files.lines(ProjectFiles.DISTRIBUTION.resolve("bin/bundles"))) {
      return lines.map(line -> line.split(" ")[1]).collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @Test
  void oneRequirementBringsAllThatADigitTakes() throws Exception {
    Set<Entry> resolved = resolve(IDENTITY, "(osgi.identity=io.thalamus.runtime)");
    Set<String> names =
        resolved.stream()
            .map(entry -> entry.attribute(IDENTITY, IDENTITY))
            .collect(Collectors.toCollection(TreeSet::new));
    assertTrue(
        names.containsAll(Set.of("io.thalamus.runtime", "io.thalamus.cpu", "io.thalamus.tflite")),
        names::toString);
    assertFalse(names.contains("io.thalamus.shell"), names::toString);
    BundleContext context = framework.getBundleContext();
    Map<String, Bundle> bundles = new HashMap<>();
    for (Entry entry : resolved) {
      Bundle bundle = context.installBundle("reference:" + entry.file().toUri());
      bundles.put(bundle.getSymbolicName(), bundle);
    }
    for (Bundle bundle : bundles.values()) {
      bundle.start();
    }
    assertEquals("3", digit(context, bundles.get("io.thalamus.api")));
  }

  /** The same by the service, for products that know no name of ours but the API's. */
  @Test
  void theServiceOfTheApiIsRequirementEnough() throws Exception {
    Set<Entry> byService = resolve("osgi.service", "(objectClass=io.thalamus.api.NeuralNetworks)");
    assertTrue(
        byService.stream()
            .anyMatch(entry -> "io.thalamus.cpu".equals(entry.attribute(IDENTITY, IDENTITY))));
  }

  /** Tells the digit in a picture; by reflection, since the classes are the framework's. */
  private static String digit(BundleContext context, Bundle api) throws Exception {
    Class<?> network = api.loadClass("io.thalamus.api.Network");
    Class<?> networks = api.loadClass("io.thalamus.api.NeuralNetworks");
    Class<?> options = api.loadClass("io.thalamus.api.CompilationOptions");
    ServiceTracker<Object, Object> ready =
        new ServiceTracker<>(
            context, context.createFilter("(osgi.condition.id=thalamus.ready)"), null);
    ready.open(true);
    assertTrue(ready.waitForService(TimeUnit.SECONDS.toMillis(60)) != null, "no device serves");
    ready.close();
    ServiceReference<?> reference = context.getAllServiceReferences(networks.getName(), null)[0];
    BufferedImage picture = ImageIO.read(SAMPLES.resolve("digit-3.png").toFile());
    try (AutoCloseable opened =
        (AutoCloseable)
            network
                .getMethod("open", networks, Path.class, options)
                .invoke(
                    null,
                    context.getService(reference),
                    SAMPLES.resolve("digits.tflite"),
                    options.getField("DEFAULT").get(null))) {
      Object answer = network.getMethod("run", BufferedImage.class).invoke(opened, picture);
      List<?> best = (List<?>) answer.getClass().getMethod("top", int.class).invoke(answer, 1);
      return best.getFirst().toString().split(" ")[0];
    }
  }
}
