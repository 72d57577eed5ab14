// SPDX-License-Identifier: Apache-2.0
/** The classes of a bundle that brings an extension and a device which knows it. */
package io.thalamus.integration.extension;
