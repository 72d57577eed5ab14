// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import io.thalamus.integration.crash.CrashDevice;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import org.osgi.framework.Constants;

/** The bundle of a device that makes its process crash, made when it is needed. Stateless. */
public final class CrashBundle {
  private static final String COMPONENT = "OSGI-INF/crash.xml";
  private static final String IMPORTS =
      "io.thalamus.hal;version=\"[1.0,2)\",io.thalamus.model;version=\"[1.0,2)\","
          + "io.thalamus.memory;version=\"[1.0,2)\"";

  private CrashBundle() {}

  /** Returns the bundle's file. */
  public static InputStream jar() throws IOException {
    String component =
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <scr:component xmlns:scr="http://www.osgi.org/xmlns/scr/v1.3.0" name="%s">
          <property name="thalamus.device" value="crash"/>
          <service><provide interface="io.thalamus.hal.Device"/></service>
          <implementation class="%s"/>
        </scr:component>
        """
            .formatted(CrashDevice.class.getName(), CrashDevice.class.getName());
    return BundleFile.of(
        "io/thalamus/integration/crash",
        Map.of(
            Constants.BUNDLE_SYMBOLICNAME,
            "io.thalamus.integration.crash",
            Constants.BUNDLE_VERSION,
            "1.0.0",
            "Service-Component",
            COMPONENT,
            Constants.IMPORT_PACKAGE,
            IMPORTS,
            Constants.PROVIDE_CAPABILITY,
            "thalamus.device;thalamus.device=\"crash\""),
        Map.of(COMPONENT, component));
  }
}
