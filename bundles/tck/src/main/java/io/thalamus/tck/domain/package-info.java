// SPDX-License-Identifier: Apache-2.0
/** Memory domains: buffers of a device, as AOSP's vendor tests try them. */
@Export
@Version("1.0.0")
package io.thalamus.tck.domain;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
