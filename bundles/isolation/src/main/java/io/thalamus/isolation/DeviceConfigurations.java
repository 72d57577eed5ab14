// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.isolation.wire.DeviceCodec;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;

/**
 * The configurations that the components of a device bundle name: those of Configuration Admin in
 * the container, which that of the process gets before the bundle is started there. Stateless.
 */
final class DeviceConfigurations {
  private static final System.Logger LOG =
      System.getLogger(DeviceConfigurations.class.getPackageName());

  /** The name of the file in the folder of the process. */
  private static final String FILE = "configurations";

  private DeviceConfigurations() {}

  /** Returns the configurations of a bundle as bytes, which are equal as long as these are. */
  static byte[] of(BundleContext context, Bundle bundle) {
    Map<String, Map<String, Object>> found = new TreeMap<>();
    Set<String> pids = pids(bundle);
    // The container's own: it says which devices are isolated.
    pids.remove(Isolation.PID);
    ServiceReference<ConfigurationAdmin> reference =
        context.getServiceReference(ConfigurationAdmin.class);
    ConfigurationAdmin admin = reference == null ? null : context.getService(reference);
    if (admin != null) {
      try {
        Configuration[] all = admin.listConfigurations(null);
        for (Configuration configuration : all == null ? new Configuration[0] : all) {
          // A targeted PID goes on with the bundle that it is for.
          String pid = configuration.getPid();
          if (pids.contains(pid.split("\\|", 2)[0])) {
            found.put(pid, properties(configuration));
          }
        }
      } catch (IOException | InvalidSyntaxException e) {
        LOG.log(Level.WARNING, "configurations of " + bundle + " cannot be read", e);
      } finally {
        context.ungetService(reference);
      }
    }
    return new Encoder()
        .list(
            List.copyOf(found.entrySet()),
            (to, entry) -> DeviceCodec.write(to.text(entry.getKey()), entry.getValue()))
        .toArray();
  }

  private static Map<String, Object> properties(Configuration configuration) {
    Map<String, Object> properties = new TreeMap<>();
    for (String name : Collections.list(configuration.getProperties().keys())) {
      if (!name.startsWith("service.")) {
        properties.put(name, configuration.getProperties().get(name));
      }
    }
    return properties;
  }

  /** Returns the PIDs that the component descriptions of a bundle name. */
  private static Set<String> pids(Bundle bundle) {
    Set<String> pids = new TreeSet<>();
    String paths = bundle.getHeaders("").get("Service-Component");
    for (String path : paths == null ? new String[0] : paths.split(",")) {
      String file = path.strip();
      int slash = file.lastIndexOf('/');
      Enumeration<URL> entries =
          bundle.findEntries(
              slash < 0 ? "/" : file.substring(0, slash), file.substring(slash + 1), false);
      for (URL entry : entries == null ? List.<URL>of() : Collections.list(entries)) {
        try (InputStream in = entry.openStream()) {
          addPids(in, pids);
        } catch (IOException | XMLStreamException e) {
          LOG.log(Level.WARNING, entry + " is no description of a component", e);
        }
      }
    }
    return pids;
  }

  private static void addPids(InputStream in, Set<String> pids) throws XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    XMLStreamReader xml = factory.createXMLStreamReader(in);
    while (xml.hasNext()) {
      if (xml.next() == XMLStreamConstants.START_ELEMENT
          && "component".equals(xml.getLocalName())) {
        String name = String.valueOf(xml.getAttributeValue(null, "name"));
        String named = xml.getAttributeValue(null, "configuration-pid");
        for (String pid : (named == null ? name : named).strip().split("\\s+")) {
          pids.add("$".equals(pid) ? name : pid);
        }
      }
    }
  }

  /** Leaves configurations in the folder of a process that is to be started. */
  static void write(byte[] configurations, Path folder) throws IOException {
    Files.write(folder.resolve(FILE), configurations);
  }

  /** Has Configuration Admin take over what was left in the folder of this process. */
  static void takeOver(BundleContext context, Path folder) throws IOException {
    Map<String, Map<String, Object>> all = new TreeMap<>();
    new Decoder(Files.readAllBytes(folder.resolve(FILE)))
        .all(in -> in.list(from -> all.put(from.text(), DeviceCodec.properties(from)) == null));
    Files.delete(folder.resolve(FILE));
    ServiceReference<ConfigurationAdmin> reference =
        context.getServiceReference(ConfigurationAdmin.class);
    if (reference == null) {
      throw new IOException("no Configuration Admin is here");
    }
    ConfigurationAdmin admin = context.getService(reference);
    for (Map.Entry<String, Map<String, Object>> entry : all.entrySet()) {
      admin.getConfiguration(entry.getKey(), "?").update(new Hashtable<>(entry.getValue()));
    }
    context.ungetService(reference);
  }
}
