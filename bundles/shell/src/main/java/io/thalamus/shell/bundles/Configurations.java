// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.console.CommandException;
import io.thalamus.console.settings.Setting;
import java.io.IOException;
import java.util.Collections;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.cm.ConfigurationEvent;
import org.osgi.service.cm.ConfigurationListener;

/** The configurations of a container, as values of settings. Thread-safe. */
public record Configurations(ConfigurationAdmin admin, BundleContext context) {
  /** The configuration that belongs to nobody, whose events come behind those of all others. */
  private static final String LAST = "io.thalamus.shell.last";

  private static final long PATIENCE_SECONDS = 10;

  /** Returns the values that a setting was given; empty if nobody set it. */
  public Optional<List<String>> values(Setting setting) throws IOException {
    try {
      Configuration[] found = admin.listConfigurations("(service.pid=" + setting.pid() + ")");
      return Optional.ofNullable(found == null ? null : found[0].getProperties().get(setting.id()))
          .map(value -> value instanceof String[] several ? List.of(several) : texts(value));
    } catch (InvalidSyntaxException e) {
      throw new IOException("no configuration has the name " + setting.pid(), e);
    }
  }

  private static List<String> texts(Object value) {
    return List.of(String.valueOf(value));
  }

  /**
   * Changes settings, and returns when all that have them have taken the changes.
   *
   * @param changes the values of each; none for a setting that nobody is to have set
   */
  public void change(Map<Setting, List<String>> changes) throws IOException, InterruptedException {
    for (String pid : changes.keySet().stream().map(Setting::pid).distinct().toList()) {
      Configuration configuration = admin.getConfiguration(pid, "?");
      Dictionary<String, Object> before = configuration.getProperties();
      Hashtable<String, Object> properties = new Hashtable<>();
      if (before != null) {
        Collections.list(before.keys()).forEach(key -> properties.put(key, before.get(key)));
      }
      changes.forEach(
          (setting, values) -> {
            if (setting.pid().equals(pid)) {
              properties.remove(setting.id());
              if (!values.isEmpty()) {
                properties.put(
                    setting.id(),
                    values.size() == 1 ? values.getFirst() : values.toArray(String[]::new));
              }
            }
          });
      configuration.update(properties);
    }
    awaitTaken();
  }

  /** Events are delivered one after another: when the last one comes, all others have come. */
  private void awaitTaken() throws IOException, InterruptedException {
    CountDownLatch taken = new CountDownLatch(1);
    ConfigurationListener listener =
        event -> {
          if (event.getPid().equals(LAST) && event.getType() == ConfigurationEvent.CM_UPDATED) {
            taken.countDown();
          }
        };
    ServiceRegistration<ConfigurationListener> registration =
        context.registerService(ConfigurationListener.class, listener, null);
    Configuration last = admin.getConfiguration(LAST, "?");
    try {
      last.update(new Hashtable<>());
      if (!taken.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new CommandException(
            "the change was made, but after %d s not everybody has taken it"
                .formatted(PATIENCE_SECONDS));
      }
    } finally {
      last.delete();
      registration.unregister();
    }
  }
}
