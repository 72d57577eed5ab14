// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/** A session of Gogo, as a person has one. Used by one thread; closed by whoever made it. */
final class Commands implements AutoCloseable {
  private final BundleContext context;
  private final ServiceReference<CommandProcessor> reference;
  private final CommandSession session;

  /** A session in the framework of a bundle. */
  Commands(BundleContext context) {
    this.context = context;
    reference = context.getServiceReference(CommandProcessor.class);
    session =
        context
            .getService(reference)
            .createSession(
                new ByteArrayInputStream(new byte[0]),
                new ByteArrayOutputStream(),
                new ByteArrayOutputStream());
  }

  /** Returns the text that a command shows. */
  String text(String line) throws Exception {
    return session.format(session.execute(line), Converter.INSPECT).toString();
  }

  @Override
  public void close() {
    session.close();
    context.ungetService(reference);
  }
}
