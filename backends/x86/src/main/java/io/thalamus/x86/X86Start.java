// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.x86.code.Machine;
import java.lang.System.Logger.Level;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Enables the device where this machine can run it; says in one line why it cannot elsewhere. */
@Component(service = X86Start.class, immediate = true)
public final class X86Start {
  private static final System.Logger LOG = System.getLogger(X86Start.class.getPackageName());

  /** Called by the component runtime. */
  @Activate
  public X86Start(ComponentContext context) {
    Machine machine = Machine.probe();
    if (machine.best().isPresent()) {
      context.enableComponent(X86Device.COMPONENT);
    } else {
      LOG.log(Level.WARNING, "the device x86 is not available: {0}", machine.reason());
    }
  }
}
