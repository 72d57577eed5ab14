// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.DeviceInfo;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.simd.SimdDevice;
import io.thalamus.x86.X86Device;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * A device has the same name and type in its {@code DeviceInfo}, in the properties of its service
 * and in the capability of its bundle.
 */
class DeclarationsTest {
  private static final Pattern ATTRIBUTE = Pattern.compile(";([^;=:]+)[^;=]*=(\"[^\"]*\"|[^;]*)");
  private static final String PREFIX = "thalamus.";

  private static Device device(String name) {
    return switch (name) {
      case "cpu" -> new CpuDevice("1.0.0");
      case "simd" -> new SimdDevice("1.0.0", 1);
      case "x86" -> new X86Device("1.0.0");
      default -> new NpuDevice("1.0.0", NpuConfig.standard());
    };
  }

  @Test
  void eachBackendIsTested() throws IOException {
    try (Stream<Path> folders = Files.list(ProjectFiles.ROOT.resolve("backends"))) {
      assertEquals(
          new TreeSet<>(List.of("cpu", "npu", "simd", "x86")),
          new TreeSet<>(folders.map(folder -> folder.getFileName().toString()).toList()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu", "simd", "npu", "x86"})
  void infoServiceAndBundleSayTheSame(String name) throws Exception {
    Map<String, String> info = facts(name, device(name).info());
    assertEquals(info, inService(name));
    assertEquals(info, inCapability(name));
  }

  private static Map<String, String> facts(String name, DeviceInfo info) {
    assertEquals("thalamus-" + name, info.name());
    return new TreeMap<>(Map.of("device", name, "type", info.type().name()));
  }

  private static Map<String, String> inCapability(String name) throws IOException {
    String header =
        ProjectFiles.manifest(ProjectFiles.ROOT.resolve("backends").resolve(name))
            .getValue("Provide-Capability");
    Matcher matcher = ATTRIBUTE.matcher(ProjectFiles.clauses(header).get(DeviceDriver.NAMESPACE));
    Map<String, String> facts = new TreeMap<>();
    while (matcher.find()) {
      String attribute = matcher.group(1);
      facts.put(
          attribute.equals(DeviceDriver.NAMESPACE) ? "device" : attribute,
          matcher.group(2).replace("\"", ""));
    }
    return facts;
  }

  /** Returns the properties in the component's description, from which the service gets them. */
  private static Map<String, String> inService(String name)
      throws IOException, ParserConfigurationException, SAXException {
    Path module = ProjectFiles.ROOT.resolve("backends").resolve(name);
    try (JarFile jar = new JarFile(ProjectFiles.jar(module).toFile())) {
      List<String> components =
          jar.stream()
              .map(entry -> entry.getName())
              .filter(entry -> entry.matches("OSGI-INF/[^/]+\\.xml"))
              .toList();
      for (String component : components) {
        try (InputStream in = jar.getInputStream(jar.getEntry(component))) {
          Map<String, String> facts = properties(in);
          if (facts.containsKey("device")) {
            return facts;
          }
        }
      }
    }
    throw new AssertionError(name + " has no component with the property thalamus.device");
  }

  private static Map<String, String> properties(InputStream component)
      throws IOException, ParserConfigurationException, SAXException {
    NodeList elements =
        DocumentBuilderFactory.newDefaultInstance()
            .newDocumentBuilder()
            .parse(component)
            .getElementsByTagName("property");
    Map<String, String> facts = new TreeMap<>();
    for (int i = 0; i < elements.getLength(); i++) {
      Element property = (Element) elements.item(i);
      String key = property.getAttribute("name");
      if (key.startsWith(PREFIX)) {
        facts.put(key.substring(PREFIX.length()), property.getAttribute("value"));
      }
    }
    return facts;
  }
}
